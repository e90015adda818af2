"""The StatefulSet controller: each reconcile takes one step.

Receives: keys of StatefulSets, from their events, those of their pods, and claims that go.
Hands on: pods, claims and ControllerRevisions.
"""

from __future__ import annotations

from functools import partial

from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, ApiError
from proreus.client.controller import Controller, Result, Watch
from proreus.client.informer import SharedInformer
from proreus.cluster.controllers.batches import Failure, concurrently, slow_start
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.controller_revisions import (
    ControllerRevisions,
    RevisionHistory,
    template_of,
)
from proreus.cluster.controllers.ownership import candidates
from proreus.cluster.controllers.pod_owners import (
    EventMessages,
    PodOwnerReconciler,
    until_next_available_s,
)
from proreus.cluster.controllers.stateful_set import claims
from proreus.cluster.controllers.stateful_set.decisions import (
    Plan,
    StatefulSetState,
    is_below_partition,
    members,
    plan,
    status_of,
)
from proreus.cluster.controllers.stateful_set.identity import (
    claim_name,
    claim_templates,
    claims_for,
    has_identity,
    identity_labels,
    ordinal_of,
    pod_for,
    pod_name,
    revision_of,
)
from proreus.cluster.pod_status import is_deleting, is_finished, phase

_MESSAGES = EventMessages(
    created="create Pod {pod} in StatefulSet {owner} successful",
    deleted="delete Pod {pod} in StatefulSet {owner} successful",
    not_created="create Pod {pod} in StatefulSet {owner} failed error: {why}",
    not_deleted="delete Pod {pod} in StatefulSet {owner} failed error: {why}",
)


def stateful_set_controller(context: ControllerContext) -> Controller:
    sets = StatefulSets(context)
    claims = Watch(sets.claims, sets.keys_of_claim)
    return sets.pod_controller("statefulset", claims, sets.revisions.watch)


class StatefulSets(PodOwnerReconciler):
    """Reconciles StatefulSets."""

    messages = _MESSAGES

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, "statefulsets.apps", "statefulset-controller")
        self.revisions = ControllerRevisions(context, self, "controller.kubernetes.io/hash")
        self.claims: SharedInformer = context.informers.informer("persistentvolumeclaims")

    def keys_of_claim(self, claim: KubeObject) -> list[str]:
        """The set in the claim's name, which may be waiting for the claim's deletion."""
        return [
            stateful_set.key
            for stateful_set in self.informer.lister.list(namespace=claim.namespace)
            for template in claim_templates(stateful_set)
            if claim.name.startswith(f"{template}-{stateful_set.name}-")
        ]

    async def sync(self, stateful_set: KubeObject) -> Result | None:
        if is_deleting(stateful_set):
            return None
        found = [
            pod
            for pod in candidates(self.pods, stateful_set)
            if ordinal_of(stateful_set, pod.name) is not None
        ]
        pods = await self.claim_pods(stateful_set, found)
        history = await self.revisions.of(stateful_set)
        now = self.clock.now()
        state = StatefulSetState(
            stateful_set, members(stateful_set, pods), history.present.name, now
        )
        current = _current(stateful_set, history)
        failures = await self._carry_out(state, current, history)
        status = status_of(state, current.name, history.collisions)
        await self.write_status(stateful_set, status)
        if failures:
            raise failures[0]
        live = {revision_of(pod) for pod in pods} | {current.name, status["currentRevision"]}
        await self.revisions.forget(stateful_set, history, live)
        return Result(until_next_available_s(stateful_set, pods, now))

    async def _carry_out(
        self, state: StatefulSetState, current: KubeObject, history: RevisionHistory
    ) -> list[Failure]:
        stateful_set, todo = state.stateful_set, plan(state)
        failures = await concurrently(list(state.members.items()), partial(self._repair, state))
        if failures:
            # Claims need their owner references before the pod is deleted.
            return failures
        self._record_recreated(stateful_set, todo)
        delete = partial(self.delete_pod, stateful_set)

        async def create(ordinal: int) -> None:
            kept = is_below_partition(stateful_set, ordinal)
            await self._create(stateful_set, current if kept else history.present, ordinal)

        return [
            *await concurrently((*todo.delete, *todo.recreate), delete),
            *await slow_start(todo.create, create),
        ]

    async def _create(self, stateful_set: KubeObject, revision: KubeObject, ordinal: int) -> None:
        name = pod_name(stateful_set, ordinal)
        if claims.is_deleted_when(stateful_set, "whenScaled") and any(
            claims.is_stale(self._cached_claim(stateful_set, template, ordinal), name)
            for template in claim_templates(stateful_set)
        ):
            return  # the claim's deletion enqueues the set
        await self._create_claims(stateful_set, ordinal)
        pod = pod_for(stateful_set, template_of(revision), revision.name, ordinal)
        await self.create_pod(stateful_set, pod)

    def _cached_claim(
        self, stateful_set: KubeObject, template: str, ordinal: int
    ) -> KubeObject | None:
        name = claim_name(template, stateful_set, ordinal)
        return self.claims.indexer.get(f"{stateful_set.namespace}/{name}")

    async def _create_claims(self, stateful_set: KubeObject, ordinal: int) -> None:
        api = self.client.core_v1.persistentvolumeclaims(stateful_set.namespace)
        for body in claims_for(stateful_set, ordinal):
            name = body["metadata"]["name"]
            if self.claims.indexer.get(f"{stateful_set.namespace}/{name}") is not None:
                continue
            said = f"Claim {name} Pod {pod_name(stateful_set, ordinal)} in StatefulSet "
            said += stateful_set.name
            try:
                await api.create(body)
            except AlreadyExists:
                continue
            except ApiError as refused:
                message = f"create {said} failed error: {refused.message}"
                self.warn(stateful_set, "FailedCreate", message)
                raise
            message = f"create {said} success"
            self.record(stateful_set, "SuccessfulCreate", message)

    async def _repair(self, state: StatefulSetState, member: tuple[int, KubeObject]) -> None:
        """Restore a pod's identity labels and its claims' owner references."""
        (ordinal, pod), stateful_set = member, state.stateful_set
        for template in claim_templates(stateful_set):
            claim = self._cached_claim(stateful_set, template, ordinal)
            if claim is not None and not is_deleting(claim):
                condemned = ordinal in state.condemned
                wanted = claims.references(stateful_set, pod, claim, is_condemned=condemned)
                if wanted != (claim.metadata.ownerReferences or []):
                    await self._own(claim, wanted)
        if is_deleting(pod) or is_finished(pod):
            return
        if phase(pod) in ("", "Pending"):
            await self._create_claims(stateful_set, ordinal)
        if not has_identity(stateful_set, pod, ordinal):
            patch = {"metadata": {"labels": identity_labels(stateful_set, ordinal)}}
            await self.client.core_v1.pods(pod.namespace).patch(pod.name, patch)

    async def _own(self, claim: KubeObject, wanted: list[dict[str, object]]) -> None:
        content = claim.to_dict()
        content["metadata"]["ownerReferences"] = wanted
        await self.client.core_v1.persistentvolumeclaims(claim.namespace).replace(content)

    def _record_recreated(self, stateful_set: KubeObject, todo: Plan) -> None:
        for pod in todo.recreate:
            has_failed = phase(pod) == "Failed"
            reason = "RecreatingFailedPod" if has_failed else "RecreatingTerminatedPod"
            word = "failed" if has_failed else "terminated"
            message = f"StatefulSet {stateful_set.key} is recreating {word} Pod {pod.name}"
            kind = "Warning" if has_failed else "Normal"
            self.recorder.event(stateful_set, kind, reason, message)


def _current(stateful_set: KubeObject, history: RevisionHistory) -> KubeObject:
    """The revision that pods have had until now; a new set, or one whose revision somebody deleted,
    has only the present one."""
    known = str((stateful_set.status or {}).get("currentRevision") or "")
    return history.by_name(known) or history.present
