"""The answer no."""

from __future__ import annotations


class Refused(Exception):
    """``str(error)`` is the reason a Forbidden status gives."""
