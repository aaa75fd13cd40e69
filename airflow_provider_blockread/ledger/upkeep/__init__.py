"""Upkeep: withdrawals of windows, requests over many windows, cleaning of source files, pruning of old details."""
