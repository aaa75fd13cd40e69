"""What people do with a window from a page: they see first what it will do, confirm it once, and it is recorded."""
