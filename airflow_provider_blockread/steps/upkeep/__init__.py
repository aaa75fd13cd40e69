"""Upkeep: rebuild, reprocess, withdraw, clean and prune windows."""
