"""Commit: prove a generation and publish it."""
