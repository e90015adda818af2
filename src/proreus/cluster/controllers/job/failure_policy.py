"""``podFailurePolicy``: what a pod's failure means for its Job. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proreus.api.object import KubeObject

COUNT, IGNORE, FAIL_INDEX, FAIL_JOB = "Count", "Ignore", "FailIndex", "FailJob"


@dataclass(frozen=True, slots=True)
class Ruling:
    """The first rule that matches decides; without one a failure counts."""

    action: str = COUNT
    message: str = ""


def ruling(job: KubeObject, pod: KubeObject) -> Ruling:
    policy = job.spec.podFailurePolicy
    for number, rule in enumerate((policy or {}).get("rules") or ()):
        found = _codes(rule, pod) if rule.get("onExitCodes") else _conditions(rule, pod)
        if found:
            subject = f"{found} matching {rule['action']} rule at index {number}"
            return Ruling(rule["action"], subject)
    return Ruling()


def _codes(rule: Mapping[str, Any], pod: KubeObject) -> str:
    asked = rule["onExitCodes"]
    name, values = asked.get("containerName"), asked.get("values") or ()
    for container, code in _exit_codes(pod):
        if not code or (name is not None and name != container):
            continue
        if (code in values) is (asked["operator"] == "In"):
            return f"Container {container} for pod {pod.key} failed with exit code {code}"
    return ""


def _exit_codes(pod: KubeObject) -> Iterator[tuple[str, int]]:
    status = pod.get("status") or {}
    for kind in ("initContainerStatuses", "containerStatuses"):
        for one in status.get(kind) or ():
            ended = (one.get("state") or {}).get("terminated")
            if ended is not None:
                yield one["name"], int(ended.get("exitCode") or 0)


def _conditions(rule: Mapping[str, Any], pod: KubeObject) -> str:
    present = {
        (one.get("type"), one.get("status"))
        for one in (pod.get("status") or {}).get("conditions") or ()
    }
    for asked in rule.get("onPodConditions") or ():
        if (asked["type"], asked.get("status") or "True") in present:
            return f"Pod {pod.key} has condition {asked['type']}"
    return ""
