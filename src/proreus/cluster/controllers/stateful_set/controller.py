"""The StatefulSet controller: brings one set at a time a step further.

Receives: keys of StatefulSets, from their events, those of their pods, and claims that go.
Hands on: pods, claims and ControllerRevisions.
"""

from __future__ import annotations

from functools import partial

from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, ApiError
from proreus.client.controller import Controller, Result, Watch
from proreus.client.informer import SharedInformer
from proreus.cluster.controllers.batches import Failure, at_once, slowly
from proreus.cluster.controllers.controller_revisions import (
    ControllerRevisions,
    History,
    template_of,
)
from proreus.cluster.controllers.ownership import candidates, is_deleting
from proreus.cluster.controllers.pod_owners import PodOwners, Wording, next_availability_s
from proreus.cluster.controllers.pod_template import is_finished, phase
from proreus.cluster.controllers.setting import Setting
from proreus.cluster.controllers.stateful_set import claims
from proreus.cluster.controllers.stateful_set.decisions import (
    Moment,
    Plan,
    is_kept_back,
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

WORKERS = 10
_WORDING = Wording(
    created="create Pod {pod} in StatefulSet {owner} successful",
    deleted="delete Pod {pod} in StatefulSet {owner} successful",
    not_created="create Pod {pod} in StatefulSet {owner} failed error: {why}",
    not_deleted="delete Pod {pod} in StatefulSet {owner} failed error: {why}",
)


def stateful_set_controller(setting: Setting) -> Controller:
    owners = PodOwners(setting, "statefulsets.apps", "statefulset-controller", wording=_WORDING)
    sync = StatefulSets(setting, owners)
    watches = [Watch(sync.claims, sync.keys_of_claim), sync.revisions.watch]
    return owners.controller(sync.sync, "statefulset", concurrency=WORKERS, watches=watches)


class StatefulSets:
    """Looks at one StatefulSet at a time."""

    def __init__(self, setting: Setting, owners: PodOwners) -> None:
        self._owners = owners
        self._clock = setting.clock
        self.revisions = ControllerRevisions(setting, owners, "controller.kubernetes.io/hash")
        self.claims: SharedInformer = setting.informers.informer("persistentvolumeclaims")

    def keys_of_claim(self, claim: KubeObject) -> list[str]:
        """The set that a claim's name speaks of; it may be waiting for the claim to be gone."""
        return [
            stateful_set.key
            for stateful_set in self._owners.informer.lister.list(namespace=claim.namespace)
            for template in claim_templates(stateful_set)
            if claim.name.startswith(f"{template}-{stateful_set.name}-")
        ]

    async def sync(self, stateful_set: KubeObject) -> Result | None:
        if is_deleting(stateful_set):
            return None
        found = [
            pod
            for pod in candidates(self._owners.pods, stateful_set)
            if ordinal_of(stateful_set, pod.name) is not None
        ]
        pods = await self._owners.claim(stateful_set, found)
        history = await self.revisions.of(stateful_set)
        now = self._clock.now()
        moment = Moment(stateful_set, members(stateful_set, pods), history.present.name, now)
        current = _current(stateful_set, history)
        failures = await self._carry_out(moment, current, history)
        status = status_of(moment, current.name, history.collisions)
        await self._owners.write_status(stateful_set, status)
        if failures:
            raise failures[0]
        live = {revision_of(pod) for pod in pods} | {current.name, status["currentRevision"]}
        await self.revisions.forget(stateful_set, history, live)
        return Result(next_availability_s(stateful_set, pods, now))

    async def _carry_out(
        self, moment: Moment, current: KubeObject, history: History
    ) -> list[Failure]:
        stateful_set, todo = moment.stateful_set, plan(moment)
        failures = await at_once(list(moment.members.items()), partial(self._mend, moment))
        if failures:
            # A pod that goes before its claims know it would leave them behind.
            return failures
        self._tell_renewed(stateful_set, todo)
        delete = partial(self._owners.delete, stateful_set)

        async def create(ordinal: int) -> None:
            kept = is_kept_back(stateful_set, ordinal)
            await self._create(stateful_set, current if kept else history.present, ordinal)

        return [
            *await at_once((*todo.delete, *todo.renew), delete),
            *await slowly(todo.create, create),
        ]

    async def _create(self, stateful_set: KubeObject, revision: KubeObject, ordinal: int) -> None:
        name = pod_name(stateful_set, ordinal)
        if claims.goes_when(stateful_set, "whenScaled") and any(
            claims.is_stale(self._claim(stateful_set, template, ordinal), name)
            for template in claim_templates(stateful_set)
        ):
            return  # the claim's going brings the set back
        await self._create_claims(stateful_set, ordinal)
        pod = pod_for(stateful_set, template_of(revision), revision.name, ordinal)
        await self._owners.create(stateful_set, pod)

    def _claim(self, stateful_set: KubeObject, template: str, ordinal: int) -> KubeObject | None:
        name = claim_name(template, stateful_set, ordinal)
        return self.claims.indexer.get(f"{stateful_set.namespace}/{name}")

    async def _create_claims(self, stateful_set: KubeObject, ordinal: int) -> None:
        api = self._owners.client.core_v1.persistentvolumeclaims(stateful_set.namespace)
        for body in claims_for(stateful_set, ordinal):
            name = body["metadata"]["name"]
            if self.claims.indexer.get(f"{stateful_set.namespace}/{name}") is not None:
                continue
            said = f"Claim {name} Pod {pod_name(stateful_set, ordinal)} in StatefulSet "
            said += stateful_set.name
            try:
                created = await api.create(body)
            except AlreadyExists:
                continue
            except ApiError as refused:
                message = f"create {said} failed error: {refused.message}"
                self._owners.recorder.event(stateful_set, "Warning", "FailedCreate", message)
                raise
            self._owners.writes.wrote(stateful_set.key, self.claims, created)
            message = f"create {said} success"
            self._owners.recorder.event(stateful_set, "Normal", "SuccessfulCreate", message)

    async def _mend(self, moment: Moment, member: tuple[int, KubeObject]) -> None:
        """Give a pod back what it lost of its identity, and its claims the owners they need."""
        (ordinal, pod), stateful_set = member, moment.stateful_set
        for template in claim_templates(stateful_set):
            claim = self._claim(stateful_set, template, ordinal)
            if claim is not None and not is_deleting(claim):
                condemned = ordinal in moment.condemned
                wanted = claims.references(stateful_set, pod, claim, is_condemned=condemned)
                if wanted != (claim.metadata.ownerReferences or []):
                    await self._own(stateful_set, claim, wanted)
        if is_deleting(pod) or is_finished(pod):
            return
        if phase(pod) in ("", "Pending"):
            await self._create_claims(stateful_set, ordinal)
        if not has_identity(stateful_set, pod, ordinal):
            patch = {"metadata": {"labels": identity_labels(stateful_set, ordinal)}}
            written = await self._owners.client.core_v1.pods(pod.namespace).patch(pod.name, patch)
            self._owners.writes.wrote(stateful_set.key, self._owners.pods, written)

    async def _own(
        self, stateful_set: KubeObject, claim: KubeObject, wanted: list[dict[str, object]]
    ) -> None:
        content = claim.to_dict()
        content["metadata"]["ownerReferences"] = wanted
        api = self._owners.client.core_v1.persistentvolumeclaims(claim.namespace)
        written = await api.replace(content)
        self._owners.writes.wrote(stateful_set.key, self.claims, written)

    def _tell_renewed(self, stateful_set: KubeObject, todo: Plan) -> None:
        for pod in todo.renew:
            has_failed = phase(pod) == "Failed"
            reason = "RecreatingFailedPod" if has_failed else "RecreatingTerminatedPod"
            word = "failed" if has_failed else "terminated"
            message = f"StatefulSet {stateful_set.key} is recreating {word} Pod {pod.name}"
            kind = "Warning" if has_failed else "Normal"
            self._owners.recorder.event(stateful_set, kind, reason, message)


def _current(stateful_set: KubeObject, history: History) -> KubeObject:
    """The revision that pods have had until now; a new set, or one whose revision somebody deleted,
    has only the present one."""
    known = str((stateful_set.status or {}).get("currentRevision") or "")
    return history.named(known) or history.present
