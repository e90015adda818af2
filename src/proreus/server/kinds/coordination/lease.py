"""Lease: a lock that expires unless its holder renews it."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts.cells import age, name_of
from proreus.server.kinds.parts.findings import Findings
from proreus.server.resource import Cells, Lifecycle, Names, Printer, Resource, Rules


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj.get("spec") or {}
    found.greater_than_zero("spec.leaseDurationSeconds", spec.get("leaseDurationSeconds"))
    found.not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))
    strategy = spec.get("strategy")
    if strategy is not None:
        at = "spec.strategy.strategy"  # twice; so does Kubernetes
        if "/" in strategy:
            found.name(at, strategy, names.qualified_name)
        else:
            found.one_of(at, strategy, ("OldestEmulationVersion",))
    if spec.get("preferredHolder") and not strategy:
        why = "may only be specified if `strategy` is defined"
        found.forbid("spec.preferredHolder", why)
    return found


def _fill(obj: Json, now: float) -> Cells:
    return [name_of(obj), (obj.get("spec") or {}).get("holderIdentity") or "", age(obj, now)]


RESOURCES = (
    Resource(
        names=Names.of("coordination.k8s.io", "v1", "Lease", "leases"),
        namespaced=True,
        lifecycle=Lifecycle(unconditional_update=False, create_on_update=True),
        rules=Rules(validate=_validate),
        printer=Printer.of(_fill, "Name", "Holder", "Age"),
    ),
)
