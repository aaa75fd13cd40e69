"""Upkeep: windows withdrawn, requests over many windows, source files cleaned, old detail pruned."""
