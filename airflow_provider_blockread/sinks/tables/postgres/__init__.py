"""A PostgreSQL table."""
