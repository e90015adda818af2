"""Kinds of ``apiextensions.k8s.io``."""
