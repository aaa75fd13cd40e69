"""Options shared by commands."""
