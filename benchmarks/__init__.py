"""Benchmarks, side by side with Spark's own readers in one run: `python -m benchmarks --help`."""
