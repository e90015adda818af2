"""Container runtimes: ``simulated`` and ``process``."""
