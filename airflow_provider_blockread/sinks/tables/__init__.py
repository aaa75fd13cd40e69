"""Sinks that are published in one commit: tables of files, and tables of a database."""
