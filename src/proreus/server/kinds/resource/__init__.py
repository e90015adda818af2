"""Kinds of ``resource.k8s.io``."""
