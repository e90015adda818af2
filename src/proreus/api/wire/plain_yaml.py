"""Trees of text as YAML: what a kubeconfig is made of.

Every start of a server writes one, and loading ``yaml`` for that was a fortieth of it. As there:
block style, keys sorted; quoted is what might read as something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

Tree = str | Mapping[str, "Tree"] | Sequence["Tree"]

_PLAIN = re.compile(r"[A-Za-z](?:[A-Za-z0-9+/=._:-]*[A-Za-z0-9+/=._-])?")
_NOT_TEXT = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def encode(tree: Mapping[str, Tree]) -> bytes:
    return "".join(f"{line}\n" for line in _mapping(tree)).encode()


def _mapping(tree: Mapping[str, Tree]) -> Iterator[str]:
    for key in sorted(tree):
        value = tree[key]
        head = f"{_scalar(key)}:"
        if isinstance(value, str):
            yield f"{head} {_scalar(value)}"
        elif not value:
            yield f"{head} {'{}' if isinstance(value, Mapping) else '[]'}"
        elif isinstance(value, Mapping):
            yield head
            yield from (f"  {line}" for line in _mapping(value))
        else:
            yield head
            yield from _sequence(value)


def _sequence(items: Sequence[Tree]) -> Iterator[str]:
    for item in items:
        if isinstance(item, str):
            lines = iter((_scalar(item),))
        else:
            assert isinstance(item, Mapping) and item, "a kubeconfig has no others"
            lines = _mapping(item)
        yield f"- {next(lines)}"
        yield from (f"  {line}" for line in lines)


def _scalar(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_TEXT:
        return text
    # Python's escapes are among YAML's.
    return '"' + text.encode("unicode_escape").decode().replace('"', '\\"') + '"'
