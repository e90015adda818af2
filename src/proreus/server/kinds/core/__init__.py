"""Kinds of the core group, ``/api/v1``."""
