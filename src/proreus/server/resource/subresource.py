"""``pods/status``, ``deployments/scale``: endpoints below one object."""

from __future__ import annotations

from collections.abc import Callable

from proreus.api.group_version import GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.lazy_dataclass import dataclass
from proreus.server.resource.printer import NAME_AND_CREATION, Printer
from proreus.server.resource.rules import ValidateUpdate

READ_WRITE = ("get", "patch", "update")
CREATE_ONLY = ("create",)
CONNECT = ("create", "get")
PROXY = ("create", "delete", "get", "patch", "update")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialUpdate:
    """An update that may change only a part of the object.

    ``reset`` puts back everything else: new, old. ``counts``: it raises the generation.
    """

    reset: Callable[[JsonObject, JsonObject], None]
    validate: ValidateUpdate
    counts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """``kind`` may live in another group version. ``update`` None: as the object itself is updated;
    ``status`` follows the rules of its kind. ``printer``: of objects of its own kind (Scale).
    ``past_kind``: the same in a version that is no longer served, but still accepted."""

    name: str
    kind: GroupVersionKind
    verbs: tuple[str, ...]
    update: PartialUpdate | None = None
    printer: Printer = NAME_AND_CREATION
    past_kind: GroupVersionKind | None = None
