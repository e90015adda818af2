"""``dataclass`` as in ``dataclasses``, whose methods are compiled when they are first called.

The standard decorator compiles five methods of each class, used or not; of the three hundred
classes that a server loads that was a quarter of its start. Here a class begins with stand-ins: the
first call compiles the method, puts it in the stand-in's place and calls it, so that later calls
pay nothing. Fields of frozen classes are set by their slots' descriptors, in two thirds of the time
of ``object.__setattr__``.

Below everything else in ``proreus``. For type checkers it is the standard decorator; ``field``,
``fields`` and ``replace`` are those of ``dataclasses``. Left out, as nothing here uses them:
``InitVar``, ``unsafe_hash``, ``weakref_slot``, and inheritance between these classes and standard
ones. What users meet (``client``, ``testing``, ``embedded``) has the standard decorator, because
documentation and tools read its signature.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable, Iterable
from dataclasses import MISSING
from functools import partial
from typing import TYPE_CHECKING, Any

_Method = Callable[..., Any]
_ORDER = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        return _made(cls, **options) if cls is not None else lambda cls: _made(cls, **options)


def _made(
    cls: Any,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    order: bool = False,
    repr: bool = True,  # noqa: A002 - the standard decorator's word
    kw_only: bool = False,
) -> Any:
    own = cls.__dict__
    # A class that defines ``__eq__`` alone has ``__hash__ = None`` from Python, which is no wish.
    has_hash = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    if cls.__doc__ is None:
        cls.__doc__ = cls.__name__  # else ``dataclasses`` inspects the signature to write one
    made: Any = dataclasses.dataclass(
        cls, init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
    )
    if "__init__" not in own:
        _stand_in(made, "__init__", partial(_init, made, frozen=frozen, slots=slots))
    if repr and "__repr__" not in own:
        made.__repr__ = _repr(made)
    if frozen:
        _freeze(made)
        if slots and "__getstate__" not in own:
            made.__getstate__, made.__setstate__ = _state, _set_state
    if eq:
        if "__eq__" not in own:
            _stand_in(made, "__eq__", partial(_comparison, "__eq__", "==", made))
        if not has_hash:
            if frozen:
                _stand_in(made, "__hash__", partial(_hash, made))
            else:
                made.__hash__ = None
    if order:
        for name, operator in _ORDER.items():
            _stand_in(made, name, partial(_comparison, name, operator, made))
    return made


def _stand_in(cls: Any, name: str, compiled: Callable[[], _Method]) -> None:
    def first_call(self: object, *args: Any, **kwargs: Any) -> Any:
        method = compiled()
        method.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, method)
        return method(self, *args, **kwargs)

    first_call.__name__ = name
    setattr(cls, name, first_call)


def _init(cls: Any, *, frozen: bool, slots: bool) -> _Method:
    """Sets every field, in their order, then calls ``__post_init__``."""
    names: dict[str, Any] = {"_set": object.__setattr__, "_absent": MISSING}
    positional, by_keyword = ["self"], list[str]()
    body = []
    for one in dataclasses.fields(cls):
        name = value = one.name
        parameter = name
        if one.default is not MISSING:
            names[f"_default_{name}"] = one.default
            parameter = f"{name}=_default_{name}"
            value = name if one.init else f"_default_{name}"
        elif one.default_factory is not MISSING:
            names[f"_factory_{name}"] = one.default_factory
            parameter = f"{name}=_absent"
            made = f"_factory_{name}()"
            value = f"{made} if {name} is _absent else {name}" if one.init else made
        elif not one.init:
            continue
        if one.init:
            (by_keyword if one.kw_only else positional).append(parameter)
        elif not slots and one.default is not MISSING:
            continue  # the class's attribute says it
        if not frozen:
            body.append(f"self.{name} = {value}")
        elif slots:
            names[f"_set_{name}"] = getattr(cls, name).__set__
            body.append(f"_set_{name}(self, {value})")
        else:
            body.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    if by_keyword:
        by_keyword.insert(0, "*")
    parameters = ", ".join(positional + by_keyword)
    return _compiled(f"__init__({parameters})", body or ["pass"], names)


def _comparison(name: str, operator: str, cls: Any) -> _Method:
    body = [
        "if other.__class__ is self.__class__:",
        f" return {_values('self', cls)} {operator} {_values('other', cls)}",
        "return NotImplemented",
    ]
    return _compiled(f"{name}(self, other)", body, {})


def _hash(cls: Any) -> _Method:
    return _compiled("__hash__(self)", [f"return hash({_values('self', cls, of_hash=True)})"], {})


def _values(of: str, cls: Any, *, of_hash: bool = False) -> str:
    """A tuple of what takes part in a comparison."""
    compared = (
        one.name
        for one in dataclasses.fields(cls)
        if (one.compare if not of_hash or one.hash is None else one.hash)
    )
    return "(" + "".join(f"{of}.{name}, " for name in compared) + ")"


def _compiled(head: str, body: Iterable[str], names: dict[str, Any]) -> _Method:
    """``names``: what it knows beside its parameters. They are cells and not globals, which are
    looked up by name."""
    name = head.partition("(")[0]
    lines = "".join(f"\n  {line}" for line in body)
    made: dict[str, Any] = {}
    exec(f"def make({', '.join(names)}):\n def {head}:{lines}\n return {name}", made)
    method: _Method = made["make"](**names)
    return method


def _repr(cls: Any) -> _Method:
    shown = [one.name for one in dataclasses.fields(cls) if one.repr]

    def __repr__(self: Any) -> str:
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{type(self).__qualname__}({values})"

    return reprlib.recursive_repr("...")(__repr__)


def _freeze(cls: Any) -> None:
    names = frozenset(one.name for one in dataclasses.fields(cls))

    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    cls.__setattr__, cls.__delattr__ = __setattr__, __delattr__


def _state(self: Any) -> list[Any]:
    """For ``copy`` and ``pickle``, which would set attributes."""
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
