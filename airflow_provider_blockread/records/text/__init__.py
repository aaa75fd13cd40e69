"""Formats of text: lines, delimited and escaped records, fixed lengths, and the encodings of all of them."""
