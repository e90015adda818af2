"""Read-only views of decoded JSON, with attribute access in YAML's spelling.

``pod.spec.containers[0].image`` and ``pod["spec"]["containers"][0]["image"]`` are the same. A field
that is absent reads as ``None`` by attribute and raises ``KeyError`` by key. Four field names are
also words of a Python mapping (``items``, ``keys``, ``values``, ``get``): read those by key. A
field named like a Python keyword takes an underscore: ``rule.from_``.

A view knows where in its object it is, so that a name which no field of Kubernetes has there raises
``AttributeError`` with the right spelling (``kinds.fields``). Of custom kinds only the metadata is
known; elsewhere in them an absent attribute in snake_case is a mistake and raises, too.

Invariant: nothing reachable from a view can be changed; ``thaw`` gives a fresh copy that can.
Cost: one small object per step, made in C; the JSON below is shared, never copied.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self, TypeVar, overload

import msgspec

from proreus.api.kinds.fields import field_name, has_field, read_absent, type_below

T_co = TypeVar("T_co", covariant=True)
_ABSENT: Any = object()


class HasType(Protocol):
    """What a view may be inside of: an object or another view."""

    def type_name(self) -> str: ...


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


if TYPE_CHECKING:

    class _MappingView(Mapping[str, Any]):
        _fields: dict[str, Any]
        _parent: HasType | str
        _step: str

        def __init__(
            self, fields: dict[str, Any], parent: HasType | str = "", step: str = ""
        ) -> None: ...

    class _SequenceView(Sequence[T_co]):
        _elements: list[Any]
        _parent: HasType | str
        _step: str

        def __init__(
            self, elements: list[Any], parent: HasType | str = "", step: str = ""
        ) -> None: ...

else:

    class _MappingView(msgspec.Struct, eq=False, gc=False):
        _fields: dict
        _parent: object = ""
        _step: str = ""

    class _SequenceView(msgspec.Struct, eq=False, gc=False):
        _elements: list
        _parent: object = ""
        _step: str = ""
        __class_getitem__ = classmethod(GenericAlias)


class FrozenMapping(Immutable, _MappingView):
    """A JSON object that cannot be changed. ``_parent``: what it is the field ``_step`` of, or the
    name of its type."""

    def type_name(self) -> str:
        """The type of Kubernetes it is, "" if that is not known."""
        parent = self._parent
        if isinstance(parent, str):
            return parent
        return type_below(parent.type_name(), self._step)

    def __getitem__(self, key: str) -> Any:
        value = self._fields[key]
        kind = type(value)
        if kind is dict:
            return FrozenMapping(value, self, key)
        return FrozenList(value, self, key) if kind is list else value

    def __getattr__(self, name: str) -> Any:
        value = self._fields.get(name, _ABSENT)
        kind = type(value)
        if kind is dict:
            return FrozenMapping(value, self, name)
        if kind is list:
            return FrozenList(value, self, name)
        return absent(self, name, self._fields) if value is _ABSENT else value

    def get(self, key: str, default: Any = None) -> Any:
        return view(self._fields.get(key, default), self, key)

    def __contains__(self, key: object) -> bool:
        return key in self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def keys(self) -> KeysView[str]:
        return KeysView(self)

    def values(self) -> ValuesView[Any]:
        return ValuesView(self)

    def items(self) -> ItemsView[str, Any]:
        return ItemsView(self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenMapping):
            return self._fields == other._fields
        if isinstance(other, Mapping):
            return bool(self._fields == thaw(other))
        return NotImplemented

    __ne__ = object.__ne__  # that of a Struct compares identities

    __hash__ = None  # type: ignore[assignment]  # a view may hold lists, like a dict

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenMapping, (self._fields, self.type_name())

    def __repr__(self) -> str:
        return repr(self._fields)

    def to_dict(self) -> dict[str, Any]:
        """A fresh copy, to change."""
        copied: dict[str, Any] = thaw(self)
        return copied


class FrozenList(Immutable, _SequenceView[T_co]):
    """A JSON array that cannot be changed."""

    def type_name(self) -> str:
        parent = self._parent
        if isinstance(parent, str):
            return parent
        return type_below(parent.type_name(), self._step)

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> FrozenList[T_co]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if type(index) is slice:
            return FrozenList(self._elements[index], self._parent, self._step)
        return view(self._elements[index], self, "")

    def __iter__(self) -> Iterator[T_co]:
        return iter([view(element, self, "") for element in self._elements])

    def __contains__(self, value: object) -> bool:
        return any(value == element for element in self)

    def __reversed__(self) -> Iterator[T_co]:
        return reversed(list(self))

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        return list(self).index(value, start, len(self) if stop is None else stop)

    def count(self, value: Any) -> int:
        return list(self).count(value)

    def __len__(self) -> int:
        return len(self._elements)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenList):
            return bool(self._elements == other._elements)
        if isinstance(other, (list, tuple)):
            return bool(self._elements == thaw(list(other)))
        return NotImplemented

    __ne__ = object.__ne__

    __hash__ = None  # type: ignore[assignment]  # as for a list

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (self._elements, self.type_name())

    def __repr__(self) -> str:
        return repr(self._elements)

    def to_list(self) -> list[Any]:
        """A fresh copy, to change."""
        copied: list[Any] = thaw(self)
        return copied


Mapping.register(FrozenMapping)
Sequence.register(FrozenList)


def view(value: Any, parent: HasType | str, step: str) -> Any:
    """The read-only view of a decoded JSON value; scalars are themselves."""
    kind = type(value)
    if kind is dict:
        return FrozenMapping(value, parent, step)
    return FrozenList(value, parent, step) if kind is list else value


def absent(owner: HasType, attribute: str, present: dict[str, Any]) -> Any:
    """What an attribute reads that is no key: the field it spells otherwise, or None."""
    if has_field(owner.type_name(), attribute):
        return None
    field = field_name(attribute)
    if field in present:
        return view(present[field], owner, field)
    return read_absent(owner.type_name(), attribute, present)


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


def plain(value: Any) -> Any:
    """What stands in a view's place where JSON is written: the values below it, not copied. Raises
    TypeError for what is neither a view nor a mapping."""
    kind = type(value)
    if kind is FrozenMapping:
        return value._fields
    if kind is FrozenList:
        return value._elements
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"not JSON: {kind.__name__}")


def refuse_change(attempt: str) -> NoReturn:
    raise TypeError(
        f"cannot {attempt}: objects are read-only, because caches share them; "
        "change the copy that to_dict() gives"
    )
