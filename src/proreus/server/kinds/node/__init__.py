"""Kinds of ``node.k8s.io``."""
