"""The rules of built-in kinds: defaults, what a write must not touch, validation, warnings."""

from __future__ import annotations

from proreus.api.group_version import GroupKind
from proreus.server.registry.rules import Rules

_RULES: dict[GroupKind, Rules] = {}


def rules_for(group_kind: GroupKind) -> Rules:
    """The kind's rules; plain ones for kinds that have none of their own."""
    return _RULES.get(group_kind, Rules())
