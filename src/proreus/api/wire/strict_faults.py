"""Fields of a JSON text that its type does not know or that are given twice, as they are read.

For texts with duplicates alone: of such a field every value is read, though only the last is kept,
so that the decoded value does not tell what was in the others. Values that decode themselves, and
what is below an unknown field, are not looked into.
"""

from __future__ import annotations

from proreus.api.field_error import FAULTS_MAX
from proreus.api.typed import Shape, TypeNode
from proreus.api.wire.json_reader import TOKEN, text_of_token


class _Open:
    """A list or an object that is being read; ``node`` is None where nothing is checked.

    ``below`` and ``place`` are the type and the path of the value that comes next.
    """

    __slots__ = ("below", "count", "is_list", "keys", "node", "path", "place", "wants_key")

    def __init__(self, opening: str, node: TypeNode | None, path: str) -> None:
        self.is_list = opening == "["
        wanted = (Shape.LIST,) if self.is_list else (Shape.OBJECT, Shape.MAP)
        self.node = node if node is not None and node.shape in wanted else None
        self.path = path
        self.keys: set[str] = set()
        self.count = 0
        self.wants_key = not self.is_list
        self.below: TypeNode | None = None
        self.place = ""

    def key(self, key: str) -> str:
        """What is wrong with a key, if anything."""
        self.wants_key, self.below = False, None
        if self.node is None:
            return ""
        self.place = f"{self.path}.{key}" if self.path else key
        field = self.node.field_of(key)
        if field is None:
            return "" if self.node.preserve_unknown else f'unknown field "{self.place}"'
        self.below = field
        if key in self.keys:
            return f'duplicate field "{self.place}"'
        self.keys.add(key)
        return ""

    def value(self) -> tuple[TypeNode | None, str]:
        """Where the value that comes next stands."""
        if not self.is_list:
            self.wants_key = True
            return self.below, self.place
        place = f"{self.path}[{self.count}]"
        self.count += 1
        if self.node is None or self.node.element is None:
            return None, ""
        return self.node.element(), place


def strict_faults(node: TypeNode, text: str) -> list[str]:
    """The faults of a valid JSON text, as many as are reported and one more."""
    faults: dict[str, None] = {}
    stack: list[_Open] = []
    for token in TOKEN.finditer(text):
        opening, closing, string, _ = token.groups()
        if closing:
            stack.pop()
        elif string is not None and stack and stack[-1].wants_key:
            if fault := stack[-1].key(text_of_token(string)):
                faults[fault] = None
                if len(faults) > FAULTS_MAX:
                    break
        else:
            below, place = stack[-1].value() if stack else (node, "")
            if opening:
                stack.append(_Open(opening, below, place))
    return list(faults)
