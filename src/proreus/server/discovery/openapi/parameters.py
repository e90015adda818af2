"""Query and path parameters, by the sets in which operations take them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str = "string"
    where: str = "query"
    description: str = ""


NAME = Parameter("name", where="path", description="Name of the object.")
NAMESPACE = Parameter("namespace", where="path", description="Namespace of the object.")
PRETTY = Parameter("pretty", description="Indent the answer.")

_DRY_RUN = Parameter("dryRun", description='"All": check everything, store nothing.')
_FIELD_MANAGER = Parameter(
    "fieldManager", description="Who makes the change, for the record of fields and owners."
)
_FIELD_VALIDATION = Parameter(
    "fieldValidation",
    description="What to do about unknown and duplicate fields: Ignore, Warn or Strict.",
)
_FORCE = Parameter("force", "boolean", description="Apply only: take over fields that others own.")
_SELECT = (
    Parameter("continue", description="Where the next page of a list begins."),
    Parameter("fieldSelector", description="Only objects with these field values."),
    Parameter("labelSelector", description="Only objects with these labels."),
    Parameter("limit", "integer", description="The most objects a page may have."),
    Parameter("resourceVersion", description="Which state of the objects is asked for."),
    Parameter("resourceVersionMatch", description="How resourceVersion is meant."),
    Parameter(
        "sendInitialEvents", "boolean", description="Begin a watch with the present objects."
    ),
    Parameter("shardSelector", description="Only a share of the objects."),
    Parameter("timeoutSeconds", "integer", description="How long a watch lasts."),
)
_REMOVE = (
    _DRY_RUN,
    Parameter("gracePeriodSeconds", "integer", description="Seconds to end in; 0 is at once."),
    Parameter(
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        description="Remove an object that cannot be read.",
    ),
    Parameter("orphanDependents", "boolean", description="Deprecated: use propagationPolicy."),
    Parameter(
        "propagationPolicy",
        description="What becomes of dependents: Orphan, Background, Foreground.",
    ),
)

WRITE = (_DRY_RUN, _FIELD_MANAGER, _FIELD_VALIDATION)
PATCH = (*WRITE, _FORCE)
DELETE = _REMOVE
LIST = (
    Parameter("allowWatchBookmarks", "boolean", description="A watch may send bookmarks."),
    *_SELECT,
    Parameter("watch", "boolean", description="Stream changes instead of listing."),
)
DELETE_COLLECTION = (*_REMOVE, *_SELECT)
