"""Merged files: many files in one, found again by name."""
