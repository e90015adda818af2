"""Field paths of rules: ``.deep.x``, ``.m['k']`` → the place an error is reported at."""

from __future__ import annotations

import re

from proreus.server.custom.structural import Structural

_STEP = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\['((?:\\.|[^'])*)'\]")


def resolve(path: str, schema: Structural) -> str | None:
    """The path as errors spell it, None if the schema has no such place."""
    at, shown, node = 0, "", schema
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return None
        key = found[1] if found[1] is not None else found[2].replace("\\'", "'")
        child = node.properties.get(key)
        if child is not None:
            shown += f".{key}"
        elif isinstance(node.values, Structural):
            child = node.values
            shown += f"[{key}]"
        else:
            return None
        node, at = child, found.end()
    return shown
