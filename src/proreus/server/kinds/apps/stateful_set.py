"""StatefulSet: pods with stable names and volumes."""

from __future__ import annotations

from collections.abc import Callable

from proreus.api.field_error import FieldError
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import names
from proreus.server.kinds.parts import workloads
from proreus.server.kinds.parts.cells import age, name_of, number
from proreus.server.kinds.parts.claims import check_claim_spec
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.pod_template.defaults import default_pod_template
from proreus.server.kinds.parts.pod_template.spec import check_pod_template, check_template_metadata
from proreus.server.kinds.parts.pod_template.volume_warnings import claim_spec_warnings
from proreus.server.kinds.parts.scale import replicated_workload
from proreus.server.kinds.parts.workload_cells import template_cells, wanted_replicas
from proreus.server.resource import Names, Rules
from proreus.server.resource.printer import Cells, Printer

_RETENTION = ("whenDeleted", "whenScaled")
_ALL_KEPT = "a negative value retains all historical revisions; a value >= 0 is recommended"


def _default(obj: JsonObject) -> None:
    spec = obj["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    _default_update_strategy(spec.setdefault("updateStrategy", {}))
    policy = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    for key in _RETENTION:
        policy.setdefault(key, "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    default_pod_template(spec.setdefault("template", {}))
    for claim in spec.get("volumeClaimTemplates") or ():
        claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        claim.setdefault("status", {}).setdefault("phase", "Pending")


def _default_update_strategy(strategy: JsonObject) -> None:
    """Other than of a DaemonSet, a type that is given without parameters stays without them."""
    if "type" not in strategy:
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    rolling = strategy.get("rollingUpdate")
    if strategy["type"] == "RollingUpdate" and rolling is not None:
        rolling.setdefault("partition", 0)
        rolling.setdefault("maxUnavailable", 1)


def _validate(obj: JsonObject) -> list[FieldError]:
    return _check(obj, check_pod_template)


def _check(
    obj: JsonObject, check_template: Callable[[Findings, str, Json], None]
) -> list[FieldError]:
    found, spec = Findings(), obj["spec"]
    policy = spec.get("podManagementPolicy") or ""
    if found.require("spec.podManagementPolicy", policy) and policy not in (
        "OrderedReady",
        "Parallel",
    ):
        found.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    _check_update_strategy(found, "spec.updateStrategy", spec.get("updateStrategy") or {})
    retention = spec.get("persistentVolumeClaimRetentionPolicy") or {}
    for key in _RETENTION:
        found.one_of(
            f"spec.persistentVolumeClaimRetentionPolicy.{key}",
            retention.get(key),
            ("Retain", "Delete"),
        )
    found.not_negative("spec.replicas", spec.get("replicas"))
    found.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    found.not_negative("spec.ordinals.start", (spec.get("ordinals") or {}).get("start"))
    template = spec.get("template") or {}
    if workloads.check_selector(found, "spec", spec, kind="statefulset"):
        check_template(found, "spec.template", _with_claims(spec))
    workloads.check_always_restarts(found, "spec.template", template, "StatefulSet")
    if spec.get("serviceName"):
        found.name("spec.serviceName", spec["serviceName"], names.dns_label)
    for where, claim in items(spec.get("volumeClaimTemplates"), "spec.volumeClaimTemplates"):
        check_claim_spec(found, f"{where}.spec", claim.get("spec") or {})
    return found


def _with_claims(spec: Json) -> Json:
    """The template of the pods as they will be made: each claim is a volume of its name."""
    template = spec.get("template") or {}
    claims = [
        (claim.get("metadata") or {}).get("name") or ""
        for claim in spec.get("volumeClaimTemplates") or ()
    ]
    if not claims:
        return template
    pod = template.get("spec") or {}
    volumes = [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
    volumes += [
        {"name": name, "persistentVolumeClaim": {"claimName": name}}
        for name in dict.fromkeys(claims)
    ]
    return {**template, "spec": {**pod, "volumes": volumes}}


def _check_update_strategy(found: Findings, at: str, strategy: Json) -> None:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type") or "":
        case "":
            found.require(at, None)
        case "OnDelete":
            if rolling is not None:
                why = "only allowed for updateStrategy 'RollingUpdate'"
                found.invalid(f"{at}.rollingUpdate", _printed(rolling), why)
        case "RollingUpdate":
            if rolling is not None:
                found.not_negative(f"{at}.rollingUpdate.partition", rolling.get("partition"))
                where, value = f"{at}.rollingUpdate.maxUnavailable", rolling.get("maxUnavailable")
                workloads.check_share(found, where, value)
                if value is not None and workloads.is_zero(value):
                    found.invalid(where, value, "cannot be 0")
                workloads.check_not_over_100(found, where, value)
        case other:
            printed = {"Type": other, "RollingUpdate": _printed(rolling)}
            found.invalid(at, printed, "must be 'RollingUpdate' or 'OnDelete'")


def _printed(rolling: Json | None) -> dict[str, object] | None:
    """As Kubernetes prints its internal form."""
    if rolling is None:
        return None
    share = rolling.get("maxUnavailable")
    return {"Partition": rolling.get("partition") or 0, "MaxUnavailable": share}


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    spec, before = new["spec"], old["spec"]
    is_same = spec.get("template") == before.get("template")
    # A template that was accepted by other rules does not keep its set from being scaled.
    found = Findings(_check(new, check_template_metadata if is_same else check_pod_template))
    for key in ("serviceName", "podManagementPolicy", "selector"):
        found.immutable(f"spec.{key}", spec.get(key), before.get(key))
    found.immutable(
        "spec.volumeClaimTemplates",
        spec.get("volumeClaimTemplates") or [],
        before.get("volumeClaimTemplates") or [],
    )
    return found


def _validate_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    parts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    others = ("observedGeneration", "collisionCount")
    workloads.check_counts(found, status, parts, *others, ready="status.readyReplicas")
    workloads.check_collisions(found, new, old)
    return found


def _warnings(obj: JsonObject) -> list[str]:
    found, spec = workloads.template_warnings(obj), obj["spec"]
    for where, claim in items(spec.get("volumeClaimTemplates"), "spec.volumeClaimTemplates"):
        found += claim_spec_warnings(claim.get("spec") or {}, where)
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        found.append(f"spec.revisionHistoryLimit: {_ALL_KEPT}")
    return found


def _fill(obj: Json, now: float) -> Cells:
    status = obj.get("status") or {}
    ready = f"{number(status.get('readyReplicas'))}/{wanted_replicas(obj)}"
    return [name_of(obj), ready, age(obj, now), *template_cells(obj)]


RESOURCES = (
    replicated_workload(
        names=Names.of("apps", "v1", "StatefulSet", "statefulsets", "sts", categories=("all",)),
        rules=Rules(
            default=_default,
            validate=_validate,
            validate_update=_validate_update,
            validate_status=_validate_status,
        ),
        warnings=_warnings,
        printer=Printer.of(_fill, "Name", "Ready", "Age", "Containers*", "Images*"),
    ),
)
