"""The command line: ``proreus server`` and its sisters."""
