"""Shared by the benchmarks: data, sessions, alternating contenders, and rows with ratios."""
