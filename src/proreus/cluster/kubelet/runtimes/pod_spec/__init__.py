"""What a pod's spec asks of any runtime: environment, volumes, probes. Pure."""
