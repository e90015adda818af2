"""Query and path parameters, by the sets in which operations take them."""

from __future__ import annotations

from dataclasses import replace

from proreus.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Parameter:
    """``hash`` is of Kubernetes' description, and names the parameter in OpenAPI v2."""

    name: str
    type: str = "string"
    where: str = "query"
    description: str = ""
    hash: str = ""


NAME = Parameter("name", where="path", description="Name of the object.")
NAMESPACE = Parameter(
    "namespace", where="path", description="Namespace of the object.", hash="vgWSWtn3"
)
PRETTY = Parameter("pretty", description="Indent the answer.", hash="tJGM1-ng")

_DRY_RUN = Parameter("dryRun", description='"All": check everything, store nothing.')
_FIELD_MANAGER = Parameter(
    "fieldManager",
    description="Who makes the change, for the record of fields and owners.",
    hash="Qy4HdaTW",
)
_FIELD_VALIDATION = Parameter(
    "fieldValidation",
    description="What to do about unknown and duplicate fields: Ignore, Warn or Strict.",
)
_FORCE = Parameter(
    "force", "boolean", description="Apply only: take over fields that others own.", hash="tOGGb0Yi"
)
RESOURCE_VERSION = Parameter(
    "resourceVersion", description="Which state of the objects is asked for.", hash="5WAnf1kx"
)
_SELECT = (
    Parameter("continue", description="Where the next page of a list begins.", hash="QfD61s0i"),
    Parameter(
        "fieldSelector", description="Only objects with these field values.", hash="xIcQKXFG"
    ),
    Parameter("labelSelector", description="Only objects with these labels.", hash="5Zw57w4C"),
    Parameter("limit", "integer", description="The most objects a page may have.", hash="1NfNmdNH"),
    RESOURCE_VERSION,
    Parameter("resourceVersionMatch", description="How resourceVersion is meant.", hash="t8XhRHeC"),
    Parameter(
        "sendInitialEvents",
        "boolean",
        description="Begin a watch with the present objects.",
        hash="rLXlEK_k",
    ),
    Parameter("shardSelector", description="Only a share of the objects."),
    Parameter("timeoutSeconds", "integer", description="How long a watch lasts.", hash="yvYezaOC"),
)
_REMOVE = (
    _DRY_RUN,
    Parameter(
        "gracePeriodSeconds",
        "integer",
        description="Seconds to end in; 0 is at once.",
        hash="-K5HaBOS",
    ),
    Parameter(
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        description="Remove an object that cannot be read.",
        hash="QbNkfIqj",
    ),
    Parameter(
        "orphanDependents",
        "boolean",
        description="Deprecated: use propagationPolicy.",
        hash="uRB25kX5",
    ),
    Parameter(
        "propagationPolicy",
        description="What becomes of dependents: Orphan, Background, Foreground.",
        hash="6jk3prlO",
    ),
)

WRITE = (_DRY_RUN, _FIELD_MANAGER, _FIELD_VALIDATION)
# Kubernetes says of patches, and only there, that apply needs it.
PATCH = (_DRY_RUN, replace(_FIELD_MANAGER, hash="7c6nTn1T"), _FIELD_VALIDATION, _FORCE)
DELETE = _REMOVE
LIST = (
    Parameter(
        "allowWatchBookmarks", "boolean", description="A watch may send bookmarks.", hash="HC2hJt-J"
    ),
    *_SELECT,
    Parameter(
        "watch", "boolean", description="Stream changes instead of listing.", hash="XNNPZGbK"
    ),
)
DELETE_COLLECTION = (*_REMOVE, *_SELECT)
