"""A printer: column definitions, and the function that makes one object's cells.

``cells`` gets the decoded stored object and the time; it must yield one value per column and never
raise, whatever fields are missing: a table with one odd object is better than none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proreus.api.json_types import Json
from proreus.api.table import Column
from proreus.lazy_dataclass import dataclass
from proreus.server.schema.definitions import OBJECT_META, Definitions

Cells = list[Any]
Fill = Callable[[Json, float], Cells]

_DESCRIPTIONS = {
    "Status": "The state the object is in.",
    "Containers": "Names of the containers.",
    "Images": "Images of the containers.",
    "Selector": "Which objects belong to this one.",
}


def _no_conditions(_: Json) -> Sequence[Mapping[str, str]]:
    return ()


@dataclass(frozen=True, slots=True, eq=False)
class Printer:
    """Equal only to itself.

    ``null_when_empty``: a table without rows has null for them.
    ``order`` sorts the rows of a list where they do not stay in the order of names.
    """

    columns: tuple[Column, ...]
    cells: Fill
    conditions: Callable[[Json], Sequence[Mapping[str, str]]] = _no_conditions
    null_when_empty: bool = False
    order: Callable[[Json], tuple[int, str]] | None = None

    @classmethod
    def of(
        cls,
        cells: Fill,
        *columns: str,
        conditions: Callable[[Json], Sequence[Mapping[str, str]]] = _no_conditions,
        null_when_empty: bool = False,
        order: Callable[[Json], tuple[int, str]] | None = None,
    ) -> Printer:
        """Columns as short texts: ``Name``, ``Ready:integer``, ``IP*`` (wide only).

        A column called Name has the format ``name``, others none; ``Attacher:string:name`` says it.
        """
        return cls(tuple(map(_column, columns)), cells, conditions, null_when_empty, order)

    def definitions(self) -> list[dict[str, Any]]:
        """The columns as the wire has them. Those of metadata are described as the schema does."""
        return [column.definition() | _from_metadata(column) for column in self.columns]


_METADATA_FIELDS = {"Name": "name", "Age": "creationTimestamp", "Created At": "creationTimestamp"}


def _from_metadata(column: Column) -> dict[str, str]:
    field = _METADATA_FIELDS.get(column.name)
    if field is None or column.description:
        return {}
    properties = Definitions.load().raw(OBJECT_META)["properties"]
    return {"description": properties[field]["description"]}


def _column(text: str) -> Column:
    name, *said = text.split(":")
    wide = name.endswith("*")
    name = name.rstrip("*")
    return Column(
        name=name,
        type=said[0] if said else "string",
        format=said[1] if len(said) > 1 else "name" if name == "Name" else "",
        priority=1 if wide else 0,
        description="" if name in _METADATA_FIELDS else _described(name),
    )


def _described(name: str) -> str:
    return _DESCRIPTIONS.get(name, f"{name} of the object.")


def _fill_default(obj: Json, _: float) -> Cells:
    metadata = obj.get("metadata") or {}
    return [metadata.get("name", ""), metadata.get("creationTimestamp")]


NAME_AND_CREATION = Printer.of(_fill_default, "Name", "Created At:date")
