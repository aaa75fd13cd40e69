"""What benchmarks share: data, sessions, contenders in turns, and rows with ratios."""
