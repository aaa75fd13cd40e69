"""Notifiers: they report the outcome of windows."""
