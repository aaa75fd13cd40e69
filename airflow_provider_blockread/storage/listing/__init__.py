"""Listing a source: its folders in pages, the rules for names, markers, and files named by upstream."""
