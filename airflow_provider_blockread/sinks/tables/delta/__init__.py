"""A Delta Lake table."""
