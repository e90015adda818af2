"""``podFailurePolicy``: what a pod's failure means for its Job. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from proreus.api.json_types import Json
from proreus.api.object import KubeObject

COUNT, IGNORE, FAIL_INDEX, FAIL_JOB = "Count", "Ignore", "FailIndex", "FailJob"


@dataclass(frozen=True, slots=True)
class PolicyMatch:
    """The first rule that matches decides; without one a failure counts."""

    action: str = COUNT
    message: str = ""


def match_policy(job: KubeObject, pod: KubeObject) -> PolicyMatch:
    policy = job.spec.podFailurePolicy
    for number, rule in enumerate((policy or {}).get("rules") or ()):
        found = _codes(rule, pod) if rule.get("onExitCodes") else _conditions(rule, pod)
        if found:
            subject = f"{found} matching {rule['action']} rule at index {number}"
            return PolicyMatch(rule["action"], subject)
    return PolicyMatch()


def _codes(rule: Json, pod: KubeObject) -> str:
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


def _conditions(rule: Json, pod: KubeObject) -> str:
    present = {
        (one.get("type"), one.get("status"))
        for one in (pod.get("status") or {}).get("conditions") or ()
    }
    for asked in rule.get("onPodConditions") or ():
        if (asked["type"], asked.get("status") or "True") in present:
            return f"Pod {pod.key} has condition {asked['type']}"
    return ""
