"""Objects of a custom kind are pruned, defaulted and checked by their schema (server.md §9.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proreus.api.field_error import FieldError
from proreus.api.group_version import GroupKind, GroupResource, GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.patch.json_patch import same
from proreus.api.status import Forbidden
from proreus.lazy_dataclass import dataclass
from proreus.server.cel.pace import CostPace
from proreus.server.custom.schema.default import default
from proreus.server.custom.schema.embedded_rules import embedded_violations
from proreus.server.custom.schema.expressions import Expressions
from proreus.server.custom.schema.list_rules import list_violations
from proreus.server.custom.schema.prune import prune, with_plain_numbers
from proreus.server.custom.schema.structural import MISSING, Structural
from proreus.server.custom.schema.typed_metadata import coerce, coerce_embedded
from proreus.server.custom.schema.validate import validate, validate_object
from proreus.server.custom.serving.scale import ScalePaths
from proreus.server.resource import Rules
from proreus.server.resource.rules import Validated

_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")


@dataclass(frozen=True, slots=True)
class Decode:
    """A body or a patched object → an object of the kind, and the fields it does not have.

    The schema is that of the version the object declares. An object of another type has none: only
    its metadata is decoded, and validation refuses it later. What is no text was applied: values
    that are there already, of which no null is dropped.
    """

    kind: GroupKind
    schemas: Mapping[str, Structural]

    def __call__(self, value: Any, *, is_text: bool = True) -> tuple[JsonObject, list[str]]:
        obj: JsonObject = with_plain_numbers(value)
        odd: list[str] = []
        schema = self._schema(obj)
        coerce(obj, odd)
        if schema is None:
            return obj, odd
        odd += prune(obj, schema)
        coerce_embedded(obj, schema, "", odd)
        default(obj, schema, keeps_nulls=not is_text)
        return obj, odd

    def _schema(self, obj: JsonObject) -> Structural | None:
        group, _, version = (obj.get("apiVersion") or "").rpartition("/")
        if (group, obj.get("kind")) != (self.kind.group, self.kind.kind):
            return None
        return self.schemas.get(version)


ToServed = Callable[[JsonObject], JsonObject]


@dataclass(frozen=True, slots=True)
class CustomRules:
    """The rules of one served version. Objects come in the stored version."""

    gvk: GroupVersionKind
    schema: Structural
    stored_schema: Structural
    has_status: bool
    to_served: ToServed | None  # None: this is the stored version
    resource: GroupResource
    is_ending: bool  # the instances of the definition are being deleted
    expressions: Expressions
    scale: ScalePaths | None = None

    def rules(self) -> Rules:
        return Rules(
            default=self._default,
            prepare_create=self._prepare_create,
            prepare_update=self._prepare_update,
            prepare_status=_prepare_status,
            validate=self._validate,
            validate_update=self._validate_update,
            validate_status=self._validate_status,
            kept_by_status=(("metadata",),),
            warnings=finalizer_warnings,
            warnings_on_update=finalizer_warnings,
        )

    def _default(self, obj: JsonObject) -> None:
        default(obj, self.stored_schema, keeps_nulls=True)

    def _prepare_create(self, obj: JsonObject) -> None:
        if self.is_ending:
            raise Forbidden.of(
                self.resource,
                obj["metadata"].get("name") or "",
                "create not allowed while custom resource definition is terminating",
            )
        self._default(obj)

    def _prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        if not self.has_status and not same(new.get("status"), old.get("status")):
            new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1
        new["metadata"].setdefault("generation", 1)

    def _validate(self, obj: JsonObject) -> Validated:
        return self._violations(self._served(obj), MISSING)

    def _validate_update(self, new: JsonObject, old: JsonObject) -> Validated:
        return self._violations(self._served(new), self._served(old))

    def _validate_status(self, new: JsonObject, old: JsonObject) -> Validated:
        """Only status is looked at; messages name places inside of it."""
        schema = self.schema.properties.get("status")
        if schema is None:
            return []
        mine, before = self._served(new), self._served(old)
        if "status" not in mine:
            if "status" not in before:
                return []
            return validate(None, schema, at="status")
        old_status = before.get("status", MISSING)

        def violations(pace: CostPace) -> list[FieldError]:
            found = validate(mine["status"], schema, old_status, at="status", pace=pace)
            if self.scale is not None:
                found += self.scale.violations(mine, status_only=True)
            found += self._doubled(mine, before)
            return self.expressions.violations(mine, before, found, pace)

        return self.expressions.paced(violations)

    def _violations(self, obj: JsonObject, old: Any) -> Validated:
        """In the order in which Kubernetes reports them."""

        def violations(pace: CostPace) -> list[FieldError]:
            found = self._schema_violations(obj, old, pace)
            found += embedded_violations(obj, self.schema)
            found += self._doubled(obj, old)
            return self.expressions.violations(obj, old, found, pace)

        return self.expressions.paced(violations)

    def _schema_violations(self, obj: JsonObject, old: Any, pace: CostPace) -> list[FieldError]:
        if obj.get("kind") != self.gvk.kind:
            return []  # refused as another kind already
        found = validate_object(obj, self.schema, old, pace=pace)
        if self.scale is not None:
            found += self.scale.violations(obj)
        return found

    def _doubled(self, obj: JsonObject, old: Any) -> list[FieldError]:
        """Items that are there twice, unless there were such before."""
        found = list_violations(obj, self.schema)
        if found and old is not MISSING and list_violations(old, self.schema):
            return []
        return found

    def _served(self, obj: JsonObject) -> JsonObject:
        return obj if self.to_served is None else self.to_served(obj)


def _prepare_status(new: JsonObject, old: JsonObject) -> None:
    """A null where there was nothing is nothing."""
    if "status" in new and new["status"] is None and "status" not in old:
        del new["status"]


def finalizer_warnings(obj: JsonObject, old: JsonObject | None = None) -> list[str]:
    """Of finalizers that the write adds."""
    added = set(obj["metadata"].get("finalizers") or ())
    if added and old is not None:
        added.difference_update(old["metadata"].get("finalizers") or ())
    return [
        f'metadata.finalizers: "{name}": prefer a domain-qualified finalizer name '
        f"{'including a path (/) ' if '.' in name else ''}to avoid "
        "accidental conflicts with other finalizer writers"
        for name in sorted(added)
        if "/" not in name and name not in _STANDARD_FINALIZERS
    ]
