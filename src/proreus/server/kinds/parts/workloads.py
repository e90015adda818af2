"""What workloads that own pods share: selector and template, shares of pods, counts of replicas."""

from __future__ import annotations

from proreus.api.field_error import FieldError, sorted_keys
from proreus.api.json_types import Json, JsonObject
from proreus.api.values import int_or_string
from proreus.server.kinds.parts import label_selectors
from proreus.server.kinds.parts.findings import NOT_NEGATIVE, Findings
from proreus.server.kinds.parts.pod_template.spec import check_pod_template
from proreus.server.kinds.parts.pod_template.warnings import pod_warnings

NO_MATCH = "`selector` does not match template `labels`"


def printed_strategy(strategy: Json) -> dict[str, object]:
    """That of a Deployment or DaemonSet, as Kubernetes prints its internal form."""
    rolling = strategy.get("rollingUpdate")
    return {
        "Type": strategy.get("type") or "",
        "RollingUpdate": None
        if rolling is None
        else {
            "MaxUnavailable": rolling.get("maxUnavailable", 0),
            "MaxSurge": rolling.get("maxSurge", 0),
        },
    }


def check_replicated(found: Findings, at: str, spec: Json) -> None:
    """The selector must be there, not be empty, and match the labels of a template of pods that
    are always started again."""
    template = spec.get("template") or {}
    if not check_selector(found, at, spec, kind="deployment"):  # of replica sets too
        return
    check_pod_template(found, f"{at}.template", template)
    if (spec.get("replicas") or 0) >= 0:
        check_always_restarts(found, f"{at}.template", template)


def check_selector(found: Findings, at: str, spec: Json, *, kind: str) -> bool:
    """Whether the template should be validated too."""
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is None:
        found.require(f"{at}.selector", None)
    else:
        label_selectors.check_selector(found, f"{at}.selector", selector)
        if label_selectors.is_empty(selector):
            found.invalid(f"{at}.selector", selector, f"empty selector is invalid for {kind}")
        if not label_selectors.is_valid(selector):
            # A stateful set with such a selector gets no further errors.
            why = "" if kind == "statefulset" else "invalid label selector"
            found.invalid(f"{at}.selector", selector, why)
            return False
    check_match(found, f"{at}.template", selector, template)
    return True


def check_match(found: Findings, at: str, selector: Json | None, template: Json) -> None:
    labels = (template.get("metadata") or {}).get("labels")
    if not label_selectors.matches(selector, labels or {}):
        found.invalid(f"{at}.metadata.labels", sorted_keys(labels), NO_MATCH)


def check_always_restarts(
    found: Findings, at: str, template: Json, kind: str = "ReplicaSet"
) -> None:
    spec = template.get("spec") or {}
    found.one_of(f"{at}.spec.restartPolicy", spec.get("restartPolicy"), ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        found.forbid(
            f"{at}.spec.activeDeadlineSeconds", f"activeDeadlineSeconds in {kind} is not Supported"
        )


def check_share(found: Findings, at: str, value: int | str | None) -> None:
    """A count or a percentage of pods."""
    if isinstance(value, str):
        for why in int_or_string.percent_errors(value):
            found.invalid(at, value, why)
    elif value is not None and value < 0:
        found.invalid(at, value, NOT_NEGATIVE)


def is_zero(value: int | str | None) -> bool:
    """What is no number at all is none, too."""
    if not isinstance(value, str):
        return not value
    digits = value.removesuffix("%")
    return not (digits.isascii() and digits.isdecimal() and digits.strip("0"))


def check_not_over_100(found: Findings, at: str, value: int | str | None) -> None:
    if isinstance(value, str) and (int_or_string.percent(value) or 0) > 100:
        found.invalid(at, value, "must not be greater than 100%")


def check_counts(
    found: Findings,
    status: Json,
    parts: tuple[str, ...],
    *others: str,
    ready: str = "readyReplicas",
) -> None:
    """No count exceeds the replicas, and available replicas are ready."""
    for key in ("replicas", *parts, *others):
        found.not_negative(f"status.{key}", status.get(key))
    replicas, available = status.get("replicas") or 0, status.get("availableReplicas") or 0
    for key in parts:
        if (count := status.get(key) or 0) > replicas:
            found.invalid(f"status.{key}", count, "cannot be greater than status.replicas")
    if available > (status.get("readyReplicas") or 0):
        found.invalid("status.availableReplicas", available, f"cannot be greater than {ready}")


def check_collisions(found: Findings, new: Json, old: Json) -> None:
    """Taking the count away is going back, too, even from zero."""
    count = (new.get("status") or {}).get("collisionCount")
    before = (old.get("status") or {}).get("collisionCount")
    if before is not None and (count is None or count < before):
        found.invalid("status.collisionCount", count or 0, "cannot be decremented")


def template_warnings(obj: JsonObject) -> list[str]:
    return pod_warnings(obj["spec"].get("template") or {}, "spec.template")


def replica_status(new: JsonObject, old: JsonObject) -> list[FieldError]:
    found, status = Findings(), new.get("status") or {}
    parts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    check_counts(found, status, parts, "observedGeneration")
    return found
