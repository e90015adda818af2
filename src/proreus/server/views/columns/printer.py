"""A printer: column definitions, and the function that makes one object's cells.

``cells`` gets the decoded stored object and the time; it must yield one value per column and never
raise, whatever fields are missing: a table with one odd object is better than none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proreus.api.table import Column

Object = Mapping[str, Any]
Cells = list[Any]
Fill = Callable[[Object, float], Cells]

_DESCRIPTIONS = {
    "Name": "The object's name, unique among its kind in its namespace.",
    "Age": "How long ago the object was created.",
    "Created At": "When the object was created.",
    "Status": "The state the object is in.",
    "Containers": "Names of the containers.",
    "Images": "Images of the containers.",
    "Selector": "Which objects belong to this one.",
}


def _no_conditions(_: Object) -> Sequence[Mapping[str, str]]:
    return ()


@dataclass(frozen=True, slots=True)
class Printer:
    """``null_when_empty``: a table without rows has null for them (custom resources)."""

    columns: tuple[Column, ...]
    cells: Fill
    conditions: Callable[[Object], Sequence[Mapping[str, str]]] = _no_conditions
    null_when_empty: bool = False


def columns(*texts: str) -> tuple[Column, ...]:
    """Column definitions from short texts: ``Name``, ``Ready:integer``, ``IP*`` (wide only).

    A column called Name always has the format ``name``.
    """
    return tuple(_column(text) for text in texts)


def _column(text: str) -> Column:
    name, _, kind = text.partition(":")
    wide = name.endswith("*")
    name = name.rstrip("*")
    return Column(
        name=name,
        type=kind or "string",
        format="name" if name == "Name" else "",
        priority=1 if wide else 0,
        description=_DESCRIPTIONS.get(name, f"{name} of the object."),
    )


def _fill_default(obj: Object, _: float) -> Cells:
    metadata = obj.get("metadata") or {}
    return [metadata.get("name", ""), metadata.get("creationTimestamp")]


DEFAULT = Printer(columns("Name", "Created At:date"), _fill_default)
