"""Sinks that one commit publishes into: tables of files, and those of a database."""
