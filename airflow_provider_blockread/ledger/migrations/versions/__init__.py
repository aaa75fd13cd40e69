"""One module per revision, oldest first; a released revision never changes."""
