"""Benchmarks: ours and the rivals in one run, `python -m benchmarks --suite NAME --json FILE`."""
