"""Queries of the pages: sums of feeds, pages of lists, and the history of a file. Nothing here writes."""
