"""Paths to one field of a schema, ``.deep.x`` or ``.m['k']``: rules have them, and selectors."""

from __future__ import annotations

import re

from proreus.server.custom.schema.structural import Structural

_TOKEN = re.compile(r"'(?:\\.|[^'\\])*'|[.\[\]]|[^.\[\]']+|'")
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
            "'": "'", "\\": "\\"}  # fmt: skip
_NOWHERE = "does not refer to a valid field"
_ENDS = "unexpected end of JSON path"


class PathFault(ValueError):
    """The text is no path, or leads nowhere."""


def walk(path: str, schema: Structural) -> tuple[tuple[str, ...], Structural]:
    """The steps of a path of names, and the schema it leads to. Raises PathFault."""
    steps, node = _walked(path, schema, with_brackets=False)
    return tuple(name for name, _ in steps), node


def resolve(path: str, schema: Structural) -> str | None:
    """The path as errors spell it, None if the schema has no such place."""
    try:
        steps, _ = _walked(path, schema, with_brackets=True)
    except PathFault:
        return None
    return "".join(f".{name}" if is_field else f"[{name}]" for name, is_field in steps)


def _walked(
    path: str, schema: Structural, *, with_brackets: bool
) -> tuple[list[tuple[str, bool]], Structural]:
    """Each step with whether it is a field: a map's key is none."""
    tokens = iter(_TOKEN.findall(path))
    steps: list[tuple[str, bool]] = []
    node = schema
    for token in tokens:
        if token == "[":
            if not with_brackets:
                raise PathFault("array notation is not allowed")
            name = _quoted(next(tokens, None))
        elif token == ".":
            given = next(tokens, None)
            if given is None:
                raise PathFault(_ENDS)
            name = given
        else:
            raise PathFault(f"expected [ or . but got: {token}")
        steps.append((name, bool(node.properties)))
        node = _below(node, name)
        if token == "[" and (end := next(tokens, None)) != "]":
            raise PathFault(_ENDS if end is None else f"expected ] but got {end}")
    return steps, node


def _below(node: Structural, name: str) -> Structural:
    child = node.properties.get(name) if node.properties else node.values
    if not isinstance(child, Structural):
        raise PathFault(_NOWHERE)
    return child


def _quoted(token: str | None) -> str:
    if token is None:
        raise PathFault(_ENDS)
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise PathFault(f"expected single quoted string but got {token}")

    def character(found: re.Match[str]) -> str:
        try:
            return _ESCAPES[found[1]]
        except KeyError:
            raise PathFault(f"invalid string literal: invalid escape char {found[0]}") from None

    return re.sub(r"\\(.)", character, token[1:-1])
