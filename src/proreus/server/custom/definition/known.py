"""The known definitions, and which of them holds which name.

Names are given once within a group. A definition is asked for by the names it wants, so that
accepting one costs the same however many there are.
"""

from __future__ import annotations

from collections.abc import Iterator

from proreus.api.json_types import JsonObject
from proreus.server.custom.definition import conditions

_NAMES = ("plural", "singular", "kind", "listKind")
_Name = tuple[str, str]  # group and name


class KnownDefinitions:
    def __init__(self) -> None:
        self._objects: dict[str, JsonObject] = {}
        self._holders: dict[_Name, set[str]] = {}
        self._refused: set[str] = set()  # those whose names were not all accepted

    def put(self, name: str, obj: JsonObject) -> None:
        self.pop(name)
        self._objects[name] = obj
        for held in _names(obj, _accepted(obj)):
            self._holders.setdefault(held, set()).add(name)
        if not conditions.is_true(obj, conditions.NAMES_ACCEPTED):
            self._refused.add(name)

    def pop(self, name: str) -> JsonObject | None:
        obj = self._objects.pop(name, None)
        if obj is not None:
            self._refused.discard(name)
            for held in _names(obj, _accepted(obj)):
                holders = self._holders.get(held)
                if holders is not None:
                    holders.discard(name)
                    if not holders:
                        del self._holders[held]
        return obj

    def get(self, name: str) -> JsonObject | None:
        return self._objects.get(name)

    def objects(self) -> list[JsonObject]:
        return list(self._objects.values())

    def holders(self, obj: JsonObject) -> list[JsonObject]:
        """The other definitions of its group that hold a name this one wants."""
        own = obj["metadata"]["name"]
        found: set[str] = set()
        for wanted in _names(obj, obj["spec"].get("names") or {}):
            found |= self._holders.get(wanted, set())
        return [self._objects[name] for name in sorted(found) if name != own]

    def refused(self, obj: JsonObject) -> list[str]:
        """The other definitions of its group that did not get their names."""
        group, own = obj["spec"].get("group"), obj["metadata"]["name"]
        return [
            name
            for name in sorted(self._refused)
            if name != own and self._objects[name]["spec"].get("group") == group
        ]

    def __contains__(self, name: str) -> bool:
        return name in self._objects

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._objects))

    def __len__(self) -> int:
        return len(self._objects)


def _accepted(obj: JsonObject) -> JsonObject:
    return (obj.get("status") or {}).get("acceptedNames") or {}


def _names(obj: JsonObject, names: JsonObject) -> Iterator[_Name]:
    group = obj["spec"].get("group") or ""
    for field in _NAMES:
        if isinstance(name := names.get(field), str) and name:
            yield group, name
    for name in names.get("shortNames") or ():
        yield group, name
