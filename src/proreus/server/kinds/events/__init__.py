"""Kinds of ``events.k8s.io``."""
