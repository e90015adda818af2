"""Kinds of ``storagemigration.k8s.io``."""
