"""Which containers run again after they have ended, as a pod's spec says it. Pure.

Every runtime obeys it: the simulated and the real one differ in what runs, not in what is done when
that ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.cluster.kubelet.runtimes.states import ContainerState, Terminated

ALWAYS, ON_FAILURE, NEVER = "Always", "OnFailure", "Never"


def is_sidecar(container: Mapping[str, Any], *, is_init: bool) -> bool:
    return is_init and container.get("restartPolicy") == ALWAYS


def restart_policy(container: Mapping[str, Any], pod_policy: str, *, is_init: bool) -> str:
    """The container's own: what follows from its pod and its place in it."""
    if is_sidecar(container, is_init=is_init):
        return ALWAYS
    if is_init and pod_policy == ALWAYS:
        return ON_FAILURE  # an init container that succeeded is done
    return pod_policy


def has_succeeded(state: ContainerState) -> bool:
    return isinstance(state, Terminated) and state.exit_code == 0


def runs_again(policy: str, ended: Terminated) -> bool:
    return policy == ALWAYS or (policy == ON_FAILURE and not has_succeeded(ended))
