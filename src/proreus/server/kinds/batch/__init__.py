"""Kinds of ``batch``."""
