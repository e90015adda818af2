"""How objects of a resource are created, changed and deleted, where kinds differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proreus.api.json_types import JsonObject
from proreus.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """``metadata.generation``: 1 when created, one more with each change of the content."""

    starts: bool = True  # CSI drivers have none before their first change
    grows: bool = True  # priority classes stay at 1
    on_annotations: bool = False  # deployments
    on_labels: bool = False  # endpoint slices


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentsFirst:
    """How a kind is deleted whose objects contain others: a controller deletes those first.

    ``mark`` (object, now) asks it to. ``conflict`` begins the message of a precondition that fails.
    """

    mark: Callable[[JsonObject, float], None]
    conflict: str
    sets_policy: bool = False  # the deletion policy of the request becomes a finalizer


def _is_free(_: Mapping[str, Any]) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifecycle:
    """The defaults describe a plain object such as ConfigMap."""

    generation: Generation | None = None
    status_keeps_metadata: bool = False  # a write of the status leaves all metadata as it was
    unconditional_update: bool = True  # PUT without resourceVersion overwrites
    create_on_update: bool = False
    returns_deleted: bool = False  # DELETE answers with the object instead of a Status
    graceful_delete: bool = False  # pods
    default_propagation: str = "Background"  # batch/v1 jobs: Orphan
    propagation_warning: str = ""  # to a DELETE without a propagation policy
    may_own: bool = True  # other objects may name one as their owner
    garbage_collected: bool = True  # may carry orphan/foregroundDeletion finalizers
    # What keeps an object whose last finalizer is gone (namespaces: those of the spec).
    is_held: Callable[[Mapping[str, Any]], bool] = _is_free
    contents_first: ContentsFirst | None = None  # namespaces, definitions
