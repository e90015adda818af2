"""What stands in the source is used by the source; tests bring their own tools."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "proreus"
# Used by users' programs and tests.
PUBLIC = ("client", "blocking", "testing", "embedded")
# Called by asyncio, aiohttp, click, logging, prometheus_client and yaml, or part of KubeObject.
CALLED_FROM_OUTSIDE = {
    "is_reading", "get_write_buffer_limits", "set_write_buffer_limits", "get_protocol",
    "set_protocol", "list_commands", "get_command", "describe",
    "ignore_aliases", "to_list", "group_version_kind", "format_commands", "handleError",
}  # fmt: skip


def test_every_function_and_class_is_used_by_the_source() -> None:
    defined: list[tuple[str, str]] = []
    used: Counter[str] = Counter()
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    defined.append((name, f"{place}:{node.lineno}"))
                case ast.ClassDef(name=name):
                    defined.append((name, f"{place}:{node.lineno}"))
                case ast.Name(id=name) | ast.Attribute(attr=name):
                    used[name] += 1
                case ast.Constant(value=str(text)) if len(text) < 100:
                    used.update(re.findall(r"\w+", text))

    unused = [
        f"{place} {name}"
        for name, place in defined
        if not used[name]
        and not name.startswith("__")
        and not place.startswith(PUBLIC)
        and name not in CALLED_FROM_OUTSIDE
    ]
    assert not unused, f"only tests use these; take them out or move them there: {unused}"
