"""Restart policies: which containers are restarted after they have ended. Pure.

Shared by all runtimes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from proreus.api.json_types import Json
from proreus.cluster.kubelet.runtimes.states import ContainerState, Terminated

ALWAYS, ON_FAILURE, NEVER = "Always", "OnFailure", "Never"
RESTART_ALL = "RestartAllContainers"


def is_sidecar(container: Json, *, is_init: bool) -> bool:
    return is_init and container.get("restartPolicy") == ALWAYS


def restart_policy(container: Json, pod_policy: str, *, is_init: bool) -> str:
    """The container's own: what it says, or what follows from its pod and its place in it."""
    if own := container.get("restartPolicy"):
        return str(own)
    if is_init and pod_policy == ALWAYS:
        return ON_FAILURE  # an init container that succeeded is done
    return pod_policy


def definition(container: Json) -> Json:
    """What a container that runs must be started again for, once it is another: its image, and the
    resources that it can be given in no other way."""
    restarting = {
        policy["resourceName"]
        for policy in container.get("resizePolicy") or ()
        if policy.get("restartPolicy") == "RestartContainer"
    }
    resources = container.get("resources") or {}
    kept = {
        kind: {name: amount for name, amount in (amounts or {}).items() if name in restarting}
        for kind, amounts in resources.items()
        if kind in ("limits", "requests")
    }
    return {"image": container.get("image") or "", **kept}


class RestartedContainer(ABC):
    """A container that its runtime starts again after it has ended, by its policy."""

    __slots__ = ()
    state: ContainerState

    @abstractmethod
    def restarts_after(self, ended: Terminated) -> bool: ...

    @property
    def has_succeeded(self) -> bool:
        return has_succeeded(self.state)

    @property
    def is_done(self) -> bool:
        """Ended for good."""
        return isinstance(self.state, Terminated) and not self.restarts_after(self.state)


def has_succeeded(state: ContainerState) -> bool:
    return isinstance(state, Terminated) and state.exit_code == 0


def restart_rules(container: Json) -> tuple[Json, ...]:
    """What it says of single exit codes, whatever its policy."""
    return tuple(container.get("restartPolicyRules") or ())


def runs_again(policy: str, ended: Terminated, rules: Sequence[Json] = ()) -> bool:
    if any(_concerns(rule, ended.exit_code) for rule in rules):
        return True
    return policy == ALWAYS or (policy == ON_FAILURE and not has_succeeded(ended))


def restarts_all(rules: Sequence[Json], ended: Terminated) -> bool:
    """Whether the pod's other containers start anew with it. The first rule that concerns its exit
    code counts."""
    found = next((rule for rule in rules if _concerns(rule, ended.exit_code)), None)
    return found is not None and found.get("action") == RESTART_ALL


def may_restart_all(containers: Iterable[Json]) -> bool:
    return any(has_restart_all(restart_rules(container)) for container in containers)


def has_restart_all(rules: Sequence[Json]) -> bool:
    return any(rule.get("action") == RESTART_ALL for rule in rules)


def _concerns(rule: Json, code: int) -> bool:
    said = rule.get("exitCodes") or {}
    is_named = code in (said.get("values") or ())
    return is_named if said.get("operator") == "In" else not is_named
