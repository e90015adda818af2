"""The schema of a version: pruning, defaulting and validation of objects.

``structural`` is the schema as a tree. ``prune`` drops what it does not declare, ``default`` fills
in its defaults, ``validate`` checks values, ``list_rules`` sets and maps, ``embedded_rules`` whole
objects inside; ``validation_rules`` are its rules in CEL, which ``expressions`` loads on demand.
"""
