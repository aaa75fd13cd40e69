"""Tasks that wait for files."""
