"""The command line: ``proreus``."""
