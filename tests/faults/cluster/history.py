"""What a rolling update promises, checked on the history of its pods, event by event. Pure.

A history is what a watch sent, in its order. After every event of it must hold: no more pods than
``replicas + surge`` that are not on their way out, no fewer than ``replicas - unavailable`` that
are available, every pod controlled by one of the Deployment's own ReplicaSets, nothing sent twice
and nothing that was gone sent again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from proreus.api.object import KubeObject

GONE = "DELETED"


@dataclass(frozen=True, slots=True)
class PodEvent:
    """One event of a watch."""

    type: str
    pod: KubeObject


@dataclass(frozen=True, slots=True)
class Promise:
    """``owners`` are the uids of the ReplicaSets that may control a pod of this history."""

    replicas: int
    surge: int
    unavailable: int
    owners: Collection[str]

    @property
    def most(self) -> int:
        return self.replicas + self.surge

    @property
    def least(self) -> int:
        return self.replicas - self.unavailable


def is_ready(pod: KubeObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def counts(pod: KubeObject) -> bool:
    """Whether it is one of the wanted pods: not finished, not being deleted."""
    is_finished = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not is_finished and not pod.metadata.deletionTimestamp


def owner_of(pod: KubeObject) -> str:
    owners = [o["uid"] for o in pod.metadata.ownerReferences or () if o.get("controller")]
    return owners[0] if len(owners) == 1 else f"{len(owners)} controllers"


def violations(
    before: Iterable[KubeObject], history: Iterable[PodEvent], promise: Promise
) -> list[str]:
    """Every broken promise, with the version at which it was. ``before``: the pods at the start."""
    return list(_violations({pod.uid: pod for pod in before}, history, promise))


def final_state(before: Iterable[KubeObject], history: Iterable[PodEvent]) -> dict[str, KubeObject]:
    """Name → pod, as the history leaves it."""
    state = {pod.name: pod for pod in before}
    for event in history:
        if event.type == GONE:
            state.pop(event.pod.name, None)
        else:
            state[event.pod.name] = event.pod
    return state


def _violations(
    state: dict[str, KubeObject], history: Iterable[PodEvent], promise: Promise
) -> Iterator[str]:
    gone: set[str] = set()
    last = max((int(pod.resource_version) for pod in state.values()), default=0)
    for event in history:
        pod, version = event.pod, int(event.pod.resource_version)
        at = f"at {version}, {event.type} {pod.name}"
        if version <= last:
            yield f"{at}: sent after {last}"
        last = max(version, last)
        if pod.uid in gone:
            yield f"{at}: was gone already"
        if (event.type == "ADDED") == (pod.uid in state):
            yield f"{at}: {'known already' if pod.uid in state else 'not known before'}"
        if event.type == GONE:
            state.pop(pod.uid, None)
            gone.add(pod.uid)
        else:
            state[pod.uid] = pod
        if owner_of(pod) not in promise.owners:
            yield f"{at}: controlled by {owner_of(pod)}"
        yield from _numbers(at, state.values(), promise)


def _numbers(at: str, pods: Collection[KubeObject], promise: Promise) -> Iterator[str]:
    wanted = [pod for pod in pods if counts(pod)]
    available = sum(is_ready(pod) for pod in wanted)
    if len(wanted) > promise.most:
        yield f"{at}: {len(wanted)} pods, at most {promise.most} allowed"
    if available < promise.least:
        yield f"{at}: {available} available, at least {promise.least} promised"
