"""Read-only views of decoded JSON, with attribute access in YAML's spelling.

``pod.spec.containers[0].image`` and ``pod["spec"]["containers"][0]["image"]`` are the same. A field
that is absent reads as ``None`` by attribute and raises ``KeyError`` by key. Four field names are
also words of a Python mapping (``items``, ``keys``, ``values``, ``get``): read those by key. A
field named like a Python keyword takes an underscore: ``rule.from_``.

Kubernetes spells its fields in camelCase, so an absent attribute in snake_case is a mistake and
raises ``AttributeError``; a custom resource's optional field with an underscore in its name is read
with ``get``. The metadata of an object has a closed set of fields (``MetadataMapping``).

Invariant: nothing reachable from a view can be changed; ``thaw`` gives a fresh copy that can.
Cost: one small object per step; the JSON below is shared, never copied.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, Self, overload


class Immutable:
    """Refuses every change, and is its own copy."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        refuse_change(f"set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        refuse_change(f"delete {name!r}")

    def __setitem__(self, key: object, value: object) -> NoReturn:
        refuse_change(f"set {key!r}")

    def __delitem__(self, key: object) -> NoReturn:
        refuse_change(f"delete {key!r}")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


class FrozenMapping(Immutable, Mapping[str, Any]):
    """A JSON object that cannot be changed."""

    __slots__ = ("_fields",)
    _fields: dict[str, Any]

    def __init__(self, fields: dict[str, Any]) -> None:
        object.__setattr__(self, "_fields", fields)

    def __getitem__(self, key: str) -> Any:
        return freeze(self._fields[key])

    def __getattr__(self, name: str) -> Any:
        try:
            return freeze(self._fields[field_name(self, name)])
        except KeyError:
            return self._absent(name)

    def _absent(self, name: str) -> None:
        """What the attribute of an absent field reads; raises if there cannot be such a field."""
        refuse_snake_case(name, self._fields)

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

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._fields,)

    def __repr__(self) -> str:
        return repr(self._fields)

    def to_dict(self) -> dict[str, Any]:
        """A fresh copy, to change."""
        copied: dict[str, Any] = thaw(self)
        return copied


# ObjectMeta and ListMeta.
_METADATA_FIELDS = frozenset(
    {
        "annotations", "continue", "creationTimestamp", "deletionGracePeriodSeconds",
        "deletionTimestamp", "finalizers", "generateName", "generation", "labels", "managedFields",
        "name", "namespace", "ownerReferences", "remainingItemCount", "resourceVersion", "selfLink",
        "uid",
    }
)  # fmt: skip


class MetadataMapping(FrozenMapping):
    """An object's metadata: an attribute that is neither a field of it nor present raises."""

    __slots__ = ()

    def _absent(self, name: str) -> None:
        if field_name(self, name) in _METADATA_FIELDS:
            return
        refuse_snake_case(name, self._fields)
        import difflib  # only a mistake needs it

        close = difflib.get_close_matches(name, _METADATA_FIELDS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise AttributeError(f"metadata has no field {name!r}{hint}")


class FrozenList(Immutable, Sequence[Any]):
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
    if isinstance(value, FrozenMapping):
        value = value._fields
    elif isinstance(value, FrozenList):
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


# Which Go writes in capitals inside a name: clusterIP, providerID, podCIDRs.
_INITIALISMS = {
    "cidr": "CIDR", "cidrs": "CIDRs", "fqdn": "FQDN", "id": "ID", "ip": "IP", "ipc": "IPC",
    "ips": "IPs", "pid": "PID", "uid": "UID", "uri": "URI", "url": "URL",
}  # fmt: skip


def refuse_snake_case(attribute: str, fields: Iterable[str]) -> None:
    """Raise AttributeError, with the right spelling, for a name that no field of Kubernetes has."""
    first, *more = attribute.split("_")
    if not more:
        return
    folded = attribute.replace("_", "").lower()
    meant = next((name for name in fields if name.lower() == folded), "") or first + "".join(
        _INITIALISMS.get(word, word[:1].upper() + word[1:]) for word in more
    )
    raise AttributeError(
        f"no field {attribute!r}; fields are spelled as in YAML, did you mean {meant!r}? "
        f"A field that may be absent and has an underscore is read with get({attribute!r})"
    )


def refuse_change(attempt: str) -> NoReturn:
    raise TypeError(
        f"cannot {attempt}: objects are read-only, because caches share them; "
        "change the copy that to_dict() gives"
    )
