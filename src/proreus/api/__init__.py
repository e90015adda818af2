"""What the Kubernetes API is: pure values and codecs. No I/O, no tasks, no logging."""
