"""Read-only views of decoded JSON, with attribute access in YAML's spelling.

``pod.spec.containers[0].image`` and ``pod["spec"]["containers"][0]["image"]`` are the same. A field
that is absent reads as ``None`` by attribute and raises ``KeyError`` by key. Four field names are
also words of a Python mapping (``items``, ``keys``, ``values``, ``get``): read those by key. A
field named like a Python keyword takes an underscore: ``rule.from_``.

Invariant: nothing reachable from a view can be changed; ``thaw`` gives a fresh copy that can.
Cost: one small object per step; the JSON below is shared, never copied.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn, overload


class FrozenMapping(Mapping[str, Any]):
    """A JSON object that cannot be changed."""

    __slots__ = ("_fields",)
    _fields: dict[str, Any]

    def __init__(self, fields: dict[str, Any]) -> None:
        object.__setattr__(self, "_fields", fields)

    def __getitem__(self, key: str) -> Any:
        return freeze(self._fields[key])

    def __getattr__(self, name: str) -> Any:
        return freeze(self._fields.get(field_name(self, name)))

    def __contains__(self, key: object) -> bool:
        return key in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenMapping):
            return self._fields == other._fields
        if isinstance(other, Mapping):
            return bool(self._fields == thaw(other))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # a view may hold lists, like a dict

    def __setattr__(self, name: str, value: object) -> NoReturn:
        refuse_change(f"set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        refuse_change(f"delete {name!r}")

    def __setitem__(self, key: str, value: object) -> NoReturn:
        refuse_change(f"set {key!r}")

    def __delitem__(self, key: str) -> NoReturn:
        refuse_change(f"delete {key!r}")

    def __copy__(self) -> FrozenMapping:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> FrozenMapping:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenMapping, (self._fields,)

    def __repr__(self) -> str:
        return repr(self._fields)

    def to_dict(self) -> dict[str, Any]:
        """A fresh copy, to change."""
        copied: dict[str, Any] = thaw(self)
        return copied


class FrozenList(Sequence[Any]):
    """A JSON array that cannot be changed."""

    __slots__ = ("_elements",)
    _elements: list[Any]

    def __init__(self, elements: list[Any]) -> None:
        object.__setattr__(self, "_elements", elements)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> FrozenList: ...
    def __getitem__(self, index: int | slice) -> Any:
        return freeze(self._elements[index])

    def __iter__(self) -> Iterator[Any]:
        return map(freeze, self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenList):
            return self._elements == other._elements
        if isinstance(other, (list, tuple)):
            return bool(self._elements == thaw(list(other)))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as for a list

    def __setattr__(self, name: str, value: object) -> NoReturn:
        refuse_change(f"set {name!r}")

    def __setitem__(self, index: int, value: object) -> NoReturn:
        refuse_change(f"set [{index}]")

    def __delitem__(self, index: int) -> NoReturn:
        refuse_change(f"delete [{index}]")

    def __copy__(self) -> FrozenList:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> FrozenList:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (self._elements,)

    def __repr__(self) -> str:
        return repr(self._elements)

    def to_list(self) -> list[Any]:
        """A fresh copy, to change."""
        copied: list[Any] = thaw(self)
        return copied


def freeze(value: Any) -> Any:
    """The read-only view of a decoded JSON value; scalars are themselves."""
    kind = type(value)
    if kind is dict:
        return FrozenMapping(value)
    if kind is list:
        return FrozenList(value)
    return value


def thaw(value: Any) -> Any:
    """A deep copy made of dicts and lists only; takes views, mappings and plain JSON alike."""
    kind = type(value)
    if kind is FrozenMapping:
        value = value._fields
    elif kind is FrozenList:
        value = value._elements
    if isinstance(value, Mapping):
        return {key: thaw(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(member) for member in value]
    return value


def field_name(owner: object, attribute: str) -> str:
    """Which field an attribute asks for. Python's own names (``__len__``…) are not fields."""
    if attribute.startswith("_"):
        raise AttributeError(f"{type(owner).__name__} has no attribute {attribute!r}")
    if attribute.endswith("_") and keyword.iskeyword(attribute[:-1]):
        return attribute[:-1]
    return attribute


def refuse_change(attempt: str) -> NoReturn:
    raise TypeError(
        f"cannot {attempt}: objects are read-only, because caches share them; "
        "change the copy that to_dict() gives"
    )
