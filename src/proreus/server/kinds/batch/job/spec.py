"""The spec of a job, and of the job template of a cron job."""

from __future__ import annotations

from proreus.api import field_error
from proreus.api.json_types import Json, JsonObject
from proreus.server.kinds.batch.job.policies import check_pod_failure_policy, check_success_policy
from proreus.server.kinds.parts.findings import Findings
from proreus.server.kinds.parts.pod_template.defaults import default_pod_template
from proreus.server.kinds.parts.pod_template.spec import check_pod_template
from proreus.server.kinds.parts.pod_template.warnings import pod_warnings

_INDEXED_MAX = 100_000
_INDEXED_MANY = 10_000
_MANAGER_MAX = 63
_COUNTS = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit",
           "ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes")  # fmt: skip


def default_job_spec(spec: JsonObject) -> None:
    default_pod_template(spec.setdefault("template", {}))
    policy = spec.get("podFailurePolicy")
    for rule in (policy or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern.setdefault("status", "True")


def check_job_spec(found: Findings, at: str, spec: Json) -> None:
    """Without the selector, which a job template has not."""
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
