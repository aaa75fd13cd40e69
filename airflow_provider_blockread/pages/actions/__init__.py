"""Actions on a window from a page: people first see what an action will do, confirm it once, and it is recorded."""
