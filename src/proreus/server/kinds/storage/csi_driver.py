"""CSIDriver: a storage driver and its capabilities."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.parts.cells import UNSET, age, name_of
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.resource import Generation, Lifecycle, Names, Resource, Rules
from proreus.server.resource.printer import Cells, Printer

_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLES = ("Persistent", "Ephemeral")
_TOKEN_MIN_S, _TOKEN_MAX_S = 600, 1 << 32
_UPDATE_PERIOD_MIN_S = 10


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("attachRequired", True)
    spec.setdefault("podInfoOnMount", False)
    spec.setdefault("storageCapacity", False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]
    spec.setdefault("requiresRepublish", False)
    spec.setdefault("seLinuxMount", False)


def _validate(obj: JsonObject) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    found.one_of("spec.fsGroupPolicy", spec.get("fsGroupPolicy"), _GROUP_POLICIES)
    _check_token_requests(found, spec.get("tokenRequests"))
    for mode in spec.get("volumeLifecycleModes") or ():
        found.one_of("spec.volumeLifecycleModes", mode, _LIFECYCLES)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _UPDATE_PERIOD_MIN_S:
        why = f"must be greater than or equal to {_UPDATE_PERIOD_MIN_S} seconds"
        found.invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, why)
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        found.invalid("spec.serviceAccountTokenInSecrets", in_secrets, why)
    return found


def _check_token_requests(found: Findings, requests: list[Json] | None) -> None:
    seen: set[str] = set()
    for where, request in items(requests, "spec.tokenRequests"):
        audience, seconds = request.get("audience") or "", request.get("expirationSeconds")
        if audience in seen:
            found.duplicate(f"{where}.audience", audience)
            continue
        seen.add(audience)
        at = f"{where}.expirationSeconds"
        if seconds is not None and seconds < _TOKEN_MIN_S:
            found.invalid(at, seconds, "may not specify a duration less than 10 minutes")
        if seconds is not None and seconds > _TOKEN_MAX_S:
            found.invalid(at, seconds, "may not specify a duration larger than 2^32 seconds")


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings(_validate(new))
    # The first is spelled like this only here.
    for key, printed in (
        ("attachRequired", "attachedRequired"),
        ("volumeLifecycleModes", "volumeLifecycleModes"),
    ):
        found.immutable(f"spec.{printed}", new["spec"].get(key), old["spec"].get(key))
    return found


def _fill(obj: Json, now: float) -> Cells:
    spec = obj.get("spec") or {}
    tokens = [token.get("audience", "") for token in spec.get("tokenRequests") or ()]
    modes = ",".join(spec.get("volumeLifecycleModes") or ()) or "<none>"
    return [
        name_of(obj),
        spec.get("attachRequired", True) is not False,
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        ",".join(tokens) if tokens else UNSET,
        bool(spec.get("requiresRepublish")),
        modes,
        age(obj, now),
    ]


_PRINTER = Printer.of(
    _fill, "Name", "AttachRequired:boolean", "PodInfoOnMount:boolean", "StorageCapacity:boolean",
    "TokenRequests", "RequiresRepublish:boolean", "Modes", "Age",
)  # fmt: skip


RESOURCES = (
    Resource(
        names=Names.of("storage.k8s.io", "v1", "CSIDriver", "csidrivers"),
        namespaced=False,
        lifecycle=Lifecycle(
            generation=Generation(starts=False), unconditional_update=False, returns_deleted=True
        ),
        rules=Rules(default=_default, validate=_validate, validate_update=_validate_update),
        printer=_PRINTER,
    ),
)
