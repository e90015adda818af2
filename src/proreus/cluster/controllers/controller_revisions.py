"""The history of StatefulSets and DaemonSets: a ControllerRevision per template they ever had.

``kubectl rollout history`` reads them and ``undo`` puts one's data back as a patch. Invariant: a
template has one revision; going back to a template gives its revision the highest number again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from proreus.api.frozen import thaw
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists, NotFound
from proreus.api.wire import json
from proreus.client.controller import Watch, owner_keys
from proreus.client.ownership import controller_reference
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.pod_owners import PodOwnerReconciler, selector_of
from proreus.cluster.controllers.pod_template import content_hash
from proreus.cluster.pod_status import created_at

POD_LABEL = "controller-revision-hash"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_COLLISIONS_MAX = 10  # names tried until one is free


# Decisions


def snapshot(owner: KubeObject) -> JsonObject:
    """What a rollback would patch: the template in place of the present one. Its keys are in order,
    as others compare the bytes with those that they make of the owner."""
    template = {**thaw(owner.spec.template), "$patch": "replace"}
    ordered: JsonObject = json.decode(json.canonical({"spec": {"template": template}}))
    return ordered


def template_of(revision: KubeObject) -> JsonObject:
    template: JsonObject = thaw(revision["data"]["spec"]["template"])
    template.pop("$patch", None)
    return template


def number(revision: KubeObject) -> int:
    return int(revision.get("revision") or 0)


def hash_of(owner: KubeObject, revision: KubeObject) -> str:
    """What tells a revision from the others of its owner, also one that came without the label."""
    return revision.labels.get(POD_LABEL) or revision.name.removeprefix(f"{owner.name}-")


def in_order(revisions: Sequence[KubeObject]) -> list[KubeObject]:
    """The oldest first."""
    return sorted(revisions, key=lambda one: (number(one), created_at(one), one.name))


def find_present(owner: KubeObject, revisions: Sequence[KubeObject]) -> KubeObject | None:
    """The revision of the owner's template."""
    wanted = snapshot(owner)
    equal = [one for one in in_order(revisions) if thaw(one.get("data")) == wanted]
    return equal[-1] if equal else None


def next_number(revisions: Sequence[KubeObject]) -> int:
    return max(map(number, revisions), default=0) + 1


def new_revision(owner: KubeObject, revision: int, collisions: int, hash_label: str) -> JsonObject:
    template = owner.spec.template
    name = content_hash(template, collisions or None)
    labels = {**((template.get("metadata") or {}).get("labels") or {}), hash_label: name}
    annotations = {k: v for k, v in owner.annotations.items() if k != _LAST_APPLIED}
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": f"{owner.name}-{name}",
            "namespace": owner.namespace,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [controller_reference(owner)],
        },
        "data": snapshot(owner),
        "revision": revision,
    }


def beyond_limit(
    owner: KubeObject, revisions: Sequence[KubeObject], live: Collection[str]
) -> list[KubeObject]:
    """The oldest of those that no pod and no rollout needs; ``live``: names."""
    limit = owner.spec.revisionHistoryLimit
    idle = [one for one in in_order(revisions) if one.name not in live]
    return idle[: max(0, len(idle) - (10 if limit is None else int(limit)))]


# Acting


@dataclass(frozen=True, slots=True)
class RevisionHistory:
    """``present``: the revision of the owner's template. ``all``: the oldest first."""

    present: KubeObject
    all: tuple[KubeObject, ...]
    collisions: int

    def by_name(self, name: str) -> KubeObject | None:
        return next((one for one in self.all if one.name == name), None)


class ControllerRevisions:
    """Those of one kind of owners; ``hash_label`` is where a revision says its hash."""

    def __init__(
        self, context: ControllerContext, owners: PodOwnerReconciler, hash_label: str
    ) -> None:
        self.informer = context.owned_informer("controllerrevisions.apps")
        self.watch = Watch(self.informer, owner_keys(owners.informer))
        self._owners = owners
        self._hash_label = hash_label
        self._api = context.client.apps_v1.controllerrevisions

    async def of(self, owner: KubeObject) -> RevisionHistory:
        """Claims what there is, and records the owner's template if it is new."""
        known = await self._claim(owner)
        collisions = int((owner.status or {}).get("collisionCount") or 0)
        present = find_present(owner, known)
        if present is None:
            present, collisions = await self._record(owner, next_number(known), collisions)
            known.append(present)
        elif number(present) < number(known[-1]):
            content = {**present.to_dict(), "revision": next_number(known)}
            renumbered = await self._api(owner.namespace).replace(content)
            known = [renumbered if one.uid == present.uid else one for one in known]
            present = renumbered
        return RevisionHistory(present, tuple(in_order(known)), collisions)

    async def forget(
        self, owner: KubeObject, history: RevisionHistory, live: Collection[str]
    ) -> None:
        """Delete what is beyond the limit and not ``live``."""
        for one in beyond_limit(owner, history.all, {*live, history.present.name}):
            with contextlib.suppress(NotFound):  # the cache may be behind
                await self._api(owner.namespace).delete(one.name, uid=one.uid)

    async def _claim(self, owner: KubeObject) -> list[KubeObject]:
        claimed = await self._owners.claim(owner, self.informer, self._api, selector_of(owner))
        return in_order(claimed)

    async def _record(
        self, owner: KubeObject, revision: int, collisions: int
    ) -> tuple[KubeObject, int]:
        """A new revision; if its name belongs to something else, under the next one."""
        api = self._api(owner.namespace)
        for tried in range(collisions, collisions + _COLLISIONS_MAX):
            body = new_revision(owner, revision, tried, self._hash_label)
            try:
                made = await api.create(body)
            except AlreadyExists:
                made = await api.get(body["metadata"]["name"])
                if made.controller_uid != owner.uid or thaw(made.get("data")) != body["data"]:
                    continue
            return made, tried
        raise RuntimeError(f"no free name for a revision of {owner!r}")
