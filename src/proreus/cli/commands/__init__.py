"""The commands of ``proreus``, one file each; ``cli.main`` loads the one that is run."""

# Before anything else loads structlog: this module keeps rich out of it.
from proreus.cli import logging as logging
