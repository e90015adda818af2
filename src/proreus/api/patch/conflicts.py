"""The answer to an apply that would change what others own."""

from __future__ import annotations

from proreus.api import status
from proreus.api.patch import field_sets
from proreus.api.patch.field_sets import Tree
from proreus.api.patch.managed_fields import Owner


def conflict(disputed: list[tuple[Owner, Tree]]) -> status.Conflict:
    """The 409 that names every disputed field and who owns it."""
    named = [(manager, path) for manager, tree in disputed for path in field_sets.paths(tree)]
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {manager}", "field": path}
        for manager, path in named
    ]
    if len(named) == 1:
        manager, path = named[0]
        text = f"Apply failed with 1 conflict: conflict with {manager}: {path}"
    else:
        lines: list[str] = []
        for manager, tree in disputed:
            lines.append(f"conflicts with {manager}:")
            lines.extend(f"- {path}" for path in field_sets.paths(tree))
        text = f"Apply failed with {len(named)} conflicts: {chr(10).join(lines)}"
    return status.Conflict(text, details={"causes": causes})
