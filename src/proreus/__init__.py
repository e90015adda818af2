"""Kubernetes list-watch, whole, in Python."""
