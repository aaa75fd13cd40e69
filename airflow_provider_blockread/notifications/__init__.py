"""Notifiers: who is to know what became of a window."""
