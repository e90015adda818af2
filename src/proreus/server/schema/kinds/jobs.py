"""Jobs: the selector they make for themselves, their counts and policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.values import names
from proreus.server.schema.kinds.findings import Findings
from proreus.server.schema.kinds.job_policies import (
    check_pod_failure_policy,
    check_success_policy,
)
from proreus.server.schema.kinds.job_status import job_status
from proreus.server.schema.kinds.label_selectors import check_selector
from proreus.server.schema.kinds.pod_defaults import default_pod_template
from proreus.server.schema.kinds.pod_spec import check_pod_template
from proreus.server.schema.kinds.pod_warnings import name_warnings, pod_warnings
from proreus.server.schema.kinds.workloads import check_match
from proreus.server.schema.rules import JsonObject, Rules

Json = Mapping[str, Any]
_CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
_JOB_NAME = "batch.kubernetes.io/job-name"
_OLD_CONTROLLER_UID, _OLD_JOB_NAME = "controller-uid", "job-name"
_INT32_MAX = 2**31 - 1
_INDEXED_MAX = 100_000
_INDEXED_MANY = 10_000
_MANAGER_MAX = 63
_DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")  # and the affinity to nodes


def default_job_spec(spec: JsonObject) -> None:
    """What jobs and the job templates of cron jobs share."""
    default_pod_template(spec.setdefault("template", {}))
    policy = spec.get("podFailurePolicy")
    for rule in (policy or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern.setdefault("status", "True")


def _default_job(obj: JsonObject) -> None:
    spec = obj["spec"]
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = spec["parallelism"] = 1
    spec.setdefault("parallelism", 1)
    per_index = spec.get("backoffLimitPerIndex") is not None
    spec.setdefault("backoffLimit", _INT32_MAX if per_index else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    has_policy = spec.get("podFailurePolicy") is not None
    spec.setdefault("podReplacementPolicy", "Failed" if has_policy else "TerminatingOrFailed")
    spec.setdefault("manualSelector", False)
    default_job_spec(spec)
    _default_labels(obj)


def _default_labels(obj: JsonObject) -> None:
    labels = (obj["spec"]["template"].get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def _prepare_create(obj: JsonObject) -> None:
    spec, metadata = obj["spec"], obj["metadata"]
    own_labels = metadata.get("labels")
    template_metadata = spec["template"].setdefault("metadata", {})
    if not spec.get("manualSelector"):
        follows_template = own_labels == template_metadata.get("labels")
        name = metadata.get("name") or ""  # without one it is refused, but later
        labels = template_metadata["labels"] = dict(template_metadata.get("labels") or {})
        for key, value in (
            (_CONTROLLER_UID, metadata["uid"]),
            (_JOB_NAME, name),
            (_OLD_CONTROLLER_UID, metadata["uid"]),
            (_OLD_JOB_NAME, name),
        ):
            labels.setdefault(key, value)
        selector = spec.setdefault("selector", {})
        selector.setdefault("matchLabels", {}).setdefault(_CONTROLLER_UID, metadata["uid"])
        if follows_template:
            metadata.pop("labels", None)
    _default_labels(obj)


def _validate(obj: JsonObject) -> list[FieldError]:
    found = Findings()
    _check_generated_selector(found, obj)
    spec = obj["spec"]
    check_job_spec(found, "spec", spec)
    _check_selector(found, spec)
    _check_hostnames(found, obj)
    return found


def _check_hostnames(found: Findings, obj: Json) -> None:
    """The pods of an indexed job are called by their index, too."""
    spec, name = obj["spec"], obj["metadata"].get("name") or ""
    if spec.get("completionMode") != "Indexed" or (spec.get("completions") or 0) <= 0:
        return
    longest = f"{name}-{spec['completions'] - 1}"
    if names.dns_label(longest):
        why = f"will not able to create pod with invalid DNS label: {longest}"
        found.invalid("metadata.name", name, why)


def _check_selector(found: Findings, spec: Json) -> None:
    if spec.get("selector") is None:
        found.require("spec.selector", None)
    else:
        check_selector(found, "spec.selector", spec["selector"])
    check_match(found, "spec.template", spec.get("selector"), spec["template"])


def _check_generated_selector(found: Findings, obj: JsonObject) -> None:
    """A selector the server made must be the server's: two jobs never share pods."""
    spec, metadata = obj["spec"], obj["metadata"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    labels = (spec["template"].get("metadata") or {}).get("labels") or {}
    for key, wanted in (
        (_OLD_CONTROLLER_UID, metadata.get("uid")),
        (_OLD_JOB_NAME, metadata.get("name")),
        (_CONTROLLER_UID, metadata.get("uid")),
        (_JOB_NAME, metadata.get("name")),
    ):
        at = f"spec.template.metadata.labels[{key}]"
        if key not in labels:
            found.require(at, None, f"must be '{wanted}'")
        elif labels[key] != wanted:
            found.invalid(at, dict(sorted(labels.items())), f"must be '{wanted}'")
    made = {"matchLabels": {_CONTROLLER_UID: metadata.get("uid")}}
    old = {"matchLabels": {_OLD_CONTROLLER_UID: metadata.get("uid")}}
    if selector not in (made, old):
        shown = {**selector, "matchLabels": dict(sorted(selector["matchLabels"].items()))}
        found.invalid("spec.selector", shown, "`selector` not auto-generated")


_COUNTS = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
           "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes")  # fmt: skip


def check_job_spec(found: Findings, at: str, spec: Json) -> None:
    """Without the selector, which only a real job has."""
    for key in _COUNTS:
        found.not_negative(f"{at}.{key}", spec.get(key))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        found.require(f"{at}.backoffLimitPerIndex", None, "when maxFailedIndexes is specified")
    if (manager := spec.get("managedBy")) is not None:
        found.domain_prefixed_path(f"{at}.managedBy", manager)
        if len(manager.encode()) > _MANAGER_MAX:
            found.append(field_error.too_long(f"{at}.managedBy", _MANAGER_MAX))
    found.one_of(f"{at}.completionMode", spec.get("completionMode"), ("NonIndexed", "Indexed"))
    if spec.get("completionMode") == "Indexed":
        _check_indexed(found, at, spec)
    elif spec.get("completionMode") in (None, "NonIndexed"):
        for key in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(key) is not None:
                found.invalid(f"{at}.{key}", spec[key], "requires indexed completion mode")
    if (policy := spec.get("podFailurePolicy")) is not None:
        check_pod_failure_policy(found, f"{at}.podFailurePolicy", policy, spec)
    if (policy := spec.get("successPolicy")) is not None:
        check_success_policy(found, f"{at}.successPolicy", policy, spec)
    allowed = ("Failed",) if spec.get("podFailurePolicy") else ("Failed", "TerminatingOrFailed")
    found.one_of(f"{at}.podReplacementPolicy", spec.get("podReplacementPolicy"), allowed)
    template = spec.get("template") or {}
    check_pod_template(found, f"{at}.template", template)
    _check_restart_policy(found, f"{at}.template.spec.restartPolicy", spec, template)


def _check_indexed(found: Findings, at: str, spec: Json) -> None:
    completions, parallelism = spec.get("completions"), spec.get("parallelism") or 0
    failed, at_failed = spec.get("maxFailedIndexes"), f"{at}.maxFailedIndexes"
    if completions is None:
        found.require(f"{at}.completions", None, "when completion mode is Indexed")
    if parallelism > _INDEXED_MAX:
        why = f"must be less than or equal to {_INDEXED_MAX} when completion mode is Indexed"
        found.invalid(f"{at}.parallelism", parallelism, why)
    if failed is not None:
        if completions is not None and failed > completions:
            found.invalid(at_failed, failed, "must be less than or equal to completions")
        if failed > _INDEXED_MAX:
            found.invalid(at_failed, failed, f"must be less than or equal to {_INDEXED_MAX}")
    if (completions or 0) > _INDEXED_MAX and spec.get("backoffLimitPerIndex") is not None:
        why = (
            f"must be less than or equal to {_INDEXED_MANY} when completions are above "
            f"{_INDEXED_MAX} and used with backoff limit per index"
        )
        if failed is None:
            needed = f"must be specified when completions is above {_INDEXED_MAX}"
            found.require(at_failed, None, needed)
        if parallelism > _INDEXED_MANY:
            found.invalid(f"{at}.parallelism", parallelism, why)
        if failed is not None and failed > _INDEXED_MANY:
            found.invalid(at_failed, failed, why)


def _check_restart_policy(found: Findings, at: str, spec: Json, template: Json) -> None:
    policy = (template.get("spec") or {}).get("restartPolicy")
    if policy in ("", None, "Always"):
        found.require(at, None, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        found.one_of(at, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        found.invalid(at, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _validate_update(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found = Findings()
    spec, before = new["spec"], old["spec"]
    check_job_spec(found, "spec", spec)
    _check_selector(found, spec)
    _check_completions(found, spec, before)
    for key in ("selector", "template", "completionMode", "podFailurePolicy",
                "backoffLimitPerIndex", "managedBy", "successPolicy"):  # fmt: skip
        if key == "template" and _may_change_template(spec, before, old):
            continue
        found.immutable(f"spec.{key}", spec.get(key), before.get(key))
    return found


def _check_completions(found: Findings, spec: Json, before: Json) -> None:
    """An indexed job may change its size, both numbers together."""
    count = spec.get("completions")
    if spec.get("completionMode") != "Indexed":
        found.immutable("spec.completions", count, before.get("completions"))
    elif count not in (None, before.get("completions")) and count != spec.get("parallelism"):
        why = "can only be modified in tandem with spec.parallelism"
        found.invalid("spec.completions", count, why)


def _may_change_template(spec: Json, before: Json, old: Json) -> bool:
    """A job that never started may still be told where to run."""
    if not before.get("suspend") or (old.get("status") or {}).get("startTime"):
        return False
    return _fixed_part(spec["template"]) == _fixed_part(before["template"])


def _fixed_part(template: Json) -> tuple[Any, ...]:
    pod = {k: v for k, v in (template.get("spec") or {}).items() if k not in _DIRECTIVES}
    if affinity := {
        k: v for k, v in (pod.pop("affinity", None) or {}).items() if k != "nodeAffinity"
    }:
        pod["affinity"] = affinity
    metadata = template.get("metadata") or {}
    return pod, {k: v for k, v in metadata.items() if k not in ("labels", "annotations")}


def job_spec_warnings(spec: JsonObject, at: str) -> list[str]:
    found: list[str] = []
    many = (spec.get("completions") or 0) > _INDEXED_MAX and (
        spec.get("parallelism") or 0
    ) > _INDEXED_MANY
    if spec.get("completionMode") == "Indexed" and many:
        found.append(
            f"{at}: In Indexed Jobs with a number of completions higher than 10^5 and a "
            "parallelism higher than 10^4, Kubernetes might not be able to track "
            "completedIndexes when a big number of indexes fail"
        )
    return found + pod_warnings(spec.get("template") or {}, f"{at}.template")


JOB = Rules(
    default=_default_job,
    prepare_create=_prepare_create,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=job_status,
    warnings=lambda obj: job_spec_warnings(obj["spec"], "spec"),
    warnings_on_create=name_warnings,
    warns_of_changes=True,
)
