"""What ``fieldSelector`` may name on objects of a kind (server.md §2.6).

A reader gets one decoded object and returns every selectable field, absent ones as "". Booleans
and numbers are compared as the text Kubernetes gives them. A field that is accepted but that no
object has (pods: status.podIPs) stands in ``names`` only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from proreus.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectableFields:
    """What may be named besides metadata.name and metadata.namespace.

    ``aliases`` maps an accepted spelling to the name used (pods: spec.host → spec.nodeName).
    ``exact_index`` names the field that watchers are indexed by (pods: spec.nodeName).
    ``own_table`` selects the wording of the error for unknown fields. Pod certificate requests
    cannot be selected ``by_namespace``, though they have one. ``reads``: the paths ``read`` looks
    at, of at most two steps, so that no more need be decoded; none: it looks at the whole object.
    """

    names: tuple[str, ...] = ()
    read: Callable[[Mapping[str, Any]], Mapping[str, str]] = field(default=lambda _: {})
    aliases: Mapping[str, str] = field(default_factory=dict)
    exact_index: str = ""
    own_table: bool = False
    by_namespace: bool = True
    unknown_field: str = ""  # the error's own wording, {} stands for the field
    reads: tuple[str, ...] = ()


def at_paths(*names: str, exact_index: str = "", absent: object = None) -> SelectableFields:
    """Fields whose selectable name is their path: ``spec.type``, ``type``. ``absent``: the value
    of one that is not there."""
    paths = tuple((name, tuple(name.split("."))) for name in names)

    def read(obj: Mapping[str, Any]) -> dict[str, str]:
        found = ((name, dig(obj, path)) for name, path in paths)
        return {name: as_text(absent if value is None else value) for name, value in found}

    return SelectableFields(
        names=names, read=read, exact_index=exact_index, own_table=True, reads=names
    )


def dig(obj: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(obj, Mapping):
            return None
        obj = obj.get(key)
    return obj


def as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
