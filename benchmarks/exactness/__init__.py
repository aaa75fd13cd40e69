"""How exact readers are on files that are hard to split: `python -m benchmarks.exactness` writes docs/exactness.md."""
