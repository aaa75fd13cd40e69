"""The exactness of readers on hard files: `python -m benchmarks.exactness` writes docs/exactness.md."""
