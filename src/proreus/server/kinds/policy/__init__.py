"""Kinds of ``policy``."""
