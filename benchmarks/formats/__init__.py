"""Formats, read beside Spark's own readers."""
