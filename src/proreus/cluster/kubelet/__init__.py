"""Nodes and what runs on them: many nodes in one process, pods by ``spec.nodeName``."""
