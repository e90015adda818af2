"""OpenAPI v2 documents of other servers, added to this server's. Pure.

Of another server's document the paths of one group version are taken, and what they refer to. A
definition that is there under the same name and differs gets another name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

from proreus.api.group_version import GroupVersion
from proreus.api.json_types import JsonObject
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass

_DEFINITIONS, _PARAMETERS = "#/definitions/", "#/parameters/"
_KINDS = "x-kubernetes-group-version-kind"


@dataclass(frozen=True, slots=True)
class RemoteSpec:
    """The document of the server that serves a group version."""

    where: GroupVersion
    body: bytes = field(repr=False)


def merged(own: JsonObject, remote: Iterable[RemoteSpec]) -> JsonObject:
    """``own`` with theirs; a document that is none adds nothing."""
    found = {**own}
    for key in ("paths", "definitions", "parameters"):
        found[key] = dict(own.get(key) or {})
    for spec in remote:
        try:
            theirs = json.decode(spec.body)
        except ValueError:
            continue
        if isinstance(theirs, dict):
            _add(found, theirs, spec.where.path)
    return found


def _add(found: JsonObject, theirs: JsonObject, root: str) -> None:
    paths = {
        path: item
        for path, item in _object(theirs.get("paths")).items()
        if path in (root, f"{root}/") or path.startswith(f"{root}/")
    }
    definitions = _closure(paths, _object(theirs.get("definitions")))
    names = {
        name: _free_name(name, definition, found["definitions"])
        for name, definition in definitions.items()
    }
    for name, definition in definitions.items():
        found["definitions"].setdefault(names[name], _renamed(definition, names))
    for name in _references(paths, _PARAMETERS):
        parameter = _object(theirs.get("parameters")).get(name)
        if parameter is not None:
            found["parameters"].setdefault(name, _renamed(parameter, names))
    for path, item in paths.items():
        found["paths"].setdefault(path, _renamed(item, names))


def _closure(paths: JsonObject, definitions: JsonObject) -> JsonObject:
    """The definitions that the paths refer to, and those that these refer to."""
    found: JsonObject = {}
    waiting = list(_references(paths, _DEFINITIONS))
    while waiting:
        name = waiting.pop()
        if name not in found and name in definitions:
            found[name] = definitions[name]
            waiting += _references(definitions[name], _DEFINITIONS)
    return found


def _references(value: Any, kind: str) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            reference = one.get("$ref")
            if isinstance(reference, str) and reference.startswith(kind):
                yield reference.removeprefix(kind)
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one


def _free_name(name: str, definition: Any, taken: JsonObject) -> str:
    number, wanted = 1, name
    while wanted in taken and not _is_same(taken[wanted], definition):
        number += 1
        wanted = f"{name}_v{number}"
    return wanted


def _is_same(one: Any, other: Any) -> bool:
    """But for the kinds it is used in, which every server has others of."""
    return {**_object(one), _KINDS: None} == {**_object(other), _KINDS: None}


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_renamed(one, names) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: _renamed(one, names) for key, one in value.items()}
    reference = value.get("$ref")
    if isinstance(reference, str) and reference.startswith(_DEFINITIONS):
        name = reference.removeprefix(_DEFINITIONS)
        found["$ref"] = _DEFINITIONS + names.get(name, name)
    return found


def _object(found: Any) -> JsonObject:
    return found if isinstance(found, dict) else {}
