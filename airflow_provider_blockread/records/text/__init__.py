"""Text formats: lines, delimited and escaped records, fixed lengths, and their encodings."""
