"""Questions about speed and their answers; ``python -m benchmarks`` prints one table."""
