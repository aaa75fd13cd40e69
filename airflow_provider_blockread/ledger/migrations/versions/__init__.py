"""One module a revision, oldest first; a released one never changes."""
