"""What a served resource is, as data: names, storage, life cycle, fields, rules, columns.

``Resource`` is put together from these values: by ``server.kinds`` for built-in kinds, by
``server.custom`` from a definition. Everything that serves objects reads it and asks for no names.
"""

from __future__ import annotations

from proreus.server.resource.custom import CustomVersion, Scaling
from proreus.server.resource.lifecycle import Generation, Lifecycle
from proreus.server.resource.names import NameRule, Names
from proreus.server.resource.persistence import Persistence, Unstored
from proreus.server.resource.printer import Cells, Fill, Printer
from proreus.server.resource.resource import STANDARD_VERBS, Resource
from proreus.server.resource.rules import Rules
from proreus.server.resource.selectable import SelectableFields, at_paths
from proreus.server.resource.subresource import READ_WRITE, PartialUpdate, Subresource

__all__ = [
    "READ_WRITE",
    "STANDARD_VERBS",
    "Cells",
    "CustomVersion",
    "Fill",
    "Generation",
    "Lifecycle",
    "NameRule",
    "Names",
    "PartialUpdate",
    "Persistence",
    "Printer",
    "Resource",
    "Rules",
    "Scaling",
    "SelectableFields",
    "Subresource",
    "Unstored",
    "at_paths",
]
