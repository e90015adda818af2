"""Pod specs, wherever they stand: in pods, and in the templates of workloads."""
