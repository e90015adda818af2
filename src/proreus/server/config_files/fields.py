"""A configuration file's YAML → its fields, each checked where it is read.

A fault is one sentence that names the field, in the words of Kubernetes' validation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.json_types import JsonObject
from proreus.api.wire import json

_HEADER = frozenset({"apiVersion", "kind"})
_Choice = TypeVar("_Choice", bound=StrEnum)


class ConfigFileInvalid(ValueError):
    """``str(error)`` is one sentence that names what is wrong: the field, and the file if known."""

    @classmethod
    def of(cls, *faults: FieldError) -> ConfigFileInvalid:
        return cls(field_error.join(faults))


def decode_config(
    text: bytes, api_versions: Collection[str], kind: str, known: Iterable[str]
) -> ConfigFields:
    """The fields of the document, of which ``known`` are possible. Raises ConfigFileInvalid."""
    from proreus.api.wire import yaml  # slow to load, and most servers have no such file

    try:
        value, duplicates = yaml.decode_strict(text)
    except ValueError as error:  # no YAML, or too much of it
        raise ConfigFileInvalid(str(error)) from error
    if duplicates:
        raise ConfigFileInvalid(f"yaml: {duplicates[0]}")
    if not isinstance(value, dict):
        raise ConfigFileInvalid("it is not a mapping")
    for name, wanted in (("apiVersion", sorted(api_versions)), ("kind", [kind])):
        if value.get(name) not in wanted:
            fault = field_error.not_supported(name, value.get(name), wanted)
            raise ConfigFileInvalid.of(fault)
    return ConfigFields(value, "", _HEADER.union(known))


class ConfigFields:
    """An object of the file at the path ``at``. All of it raises ConfigFileInvalid."""

    def __init__(self, value: Mapping[str, Any], at: str, known: Collection[str]) -> None:
        self._value = value
        self._at = at
        for name in value:
            if name not in known:
                raise ConfigFileInvalid(f"unknown field {field_error.quote(self.path(name))}")

    def path(self, name: str) -> str:
        return f"{self._at}.{name}" if self._at else name

    def has(self, name: str) -> bool:
        return self._value.get(name) is not None

    def string(self, name: str) -> str:
        value = self._value.get(name)
        if value is not None and not isinstance(value, str):
            raise self._wrong_type(name, value, "a string")
        return value or ""

    def flag(self, name: str) -> bool | None:
        value = self._value.get(name)
        if value is not None and not isinstance(value, bool):
            raise self._wrong_type(name, value, "a boolean")
        return value

    def strings(self, name: str) -> tuple[str, ...]:
        values = self._list(name)
        for number, value in enumerate(values):
            if not isinstance(value, str):
                raise self._wrong_type(f"{name}[{number}]", value, "a string")
        return tuple(values)

    def fields(self, name: str, known: Collection[str]) -> ConfigFields | None:
        value = self._value.get(name)
        if value is None:
            return None
        return ConfigFields(self._mapping(name, value), self.path(name), known)

    def each(self, name: str, known: Collection[str]) -> Iterator[ConfigFields]:
        for number, value in enumerate(self._list(name)):
            at = f"{name}[{number}]"
            yield ConfigFields(self._mapping(at, value), self.path(at), known)

    def document(self, name: str) -> bytes:
        """An object inside that is a configuration of its own, with kind and apiVersion."""
        return json.encode(self._mapping(name, self._value.get(name)))

    def choice(self, name: str, of: type[_Choice]) -> _Choice:
        given = self.string(name)
        if not given:
            raise ConfigFileInvalid.of(field_error.required(self.path(name)))
        return self._chosen(name, given, of)

    def choices(self, name: str, of: type[_Choice]) -> frozenset[_Choice]:
        given = enumerate(self.strings(name))
        return frozenset(self._chosen(f"{name}[{number}]", each, of) for number, each in given)

    def _chosen(self, name: str, given: str, of: type[_Choice]) -> _Choice:
        try:
            return of(given)
        except ValueError as error:
            fault = field_error.not_supported(self.path(name), given, list(of))
            raise ConfigFileInvalid.of(fault) from error

    def _list(self, name: str) -> list[Any]:
        value = self._value.get(name)
        if value is not None and not isinstance(value, list):
            raise self._wrong_type(name, value, "a list")
        return value or []

    def _mapping(self, name: str, value: object) -> JsonObject:
        if not isinstance(value, dict):
            raise self._wrong_type(name, value, "an object")
        return value

    def _wrong_type(self, name: str, value: object, wanted: str) -> ConfigFileInvalid:
        fault = field_error.type_invalid(self.path(name), value, f"must be {wanted}")
        return ConfigFileInvalid.of(fault)
