"""Kinds of ``apps``."""
