"""What is done with the answers of benchmarks: kept, compared, drawn and printed."""
