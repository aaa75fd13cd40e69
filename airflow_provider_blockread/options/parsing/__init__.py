"""The texts that options accept, checked and parsed: sizes, times, names of encodings, queries."""
