"""The kinds of patches."""

from __future__ import annotations

from enum import StrEnum


class PatchType(StrEnum):
    """How a patch says what to change; the value is its content type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"
