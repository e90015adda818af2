"""``/binding``: a pod gets its node, once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proreus.api import field_error
from proreus.api.field_error import FieldError, Reason
from proreus.api.group_version import GroupResource, GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.status import Conflict, PlainError
from proreus.api.values.timestamp import format_time
from proreus.api.wire import splice
from proreus.lazy_dataclass import dataclass
from proreus.server.registry import metadata
from proreus.server.registry.admission import CREATE
from proreus.server.registry.failures import translate_errors
from proreus.server.registry.write import Write
from proreus.server.storage.interface import StoredValue
from proreus.server.storage.resource_store import Outcome, Preconditions

BINDING = GroupVersionKind("", "v1", "Binding")
_BINDING = GroupResource("", "pods/binding")


@dataclass(frozen=True, slots=True)
class Bind:
    """One binding of a pod; ``write`` is to the pod."""

    write: Write
    binding: JsonObject

    async def commit(self) -> Outcome:
        """Raises NotFound, Conflict, PlainError for a target that is no node."""
        write, collection = self.write, self.write.collection
        attributes = write.attributes(CREATE, self.binding, None, kind=BINDING)
        await write.admission.mutate(attributes)
        if errors := _violations(self.binding):
            raise PlainError(field_error.join(errors))
        await write.admission.validate(attributes)
        meta = metadata.ensure(self.binding)
        preconditions = Preconditions(meta.get("uid") or None, meta.get("resourceVersion") or None)
        key = collection.key(write.namespace, write.name)
        with translate_errors(collection.resource.group_resource, write.name, "update"):
            return await collection.store.guaranteed_update(
                key,
                self.next,
                preconditions=preconditions,
                cached=collection.suggested(key),
                dry_run=write.dry_run,
            )

    async def next(self, current: StoredValue | None) -> bytes:
        """The pod with its node."""
        assert current is not None, "a missing key is an error before"
        pod = self.write.collection.decode(current)
        _assign(pod, self.binding, self.write.now)
        return splice.stored_from_object(pod)


def _assign(pod: JsonObject, binding: JsonObject, now: float) -> None:
    name, node = pod["metadata"]["name"], binding["target"]["name"]
    spec = pod.setdefault("spec", {})
    if metadata.is_deleting(pod):
        raise Conflict.of(
            _BINDING, name, f"pod {name} is being deleted, cannot be assigned to a host"
        )
    if taken := spec.get("nodeName"):
        raise Conflict.of(_BINDING, name, f'pod {name} is already assigned to node "{taken}"')
    if spec.get("schedulingGates"):
        raise Conflict.of(_BINDING, name, f"pod {name} has non-empty .spec.schedulingGates")
    spec["nodeName"] = node
    for part in ("annotations", "labels"):
        if given := metadata.ensure(binding).get(part):
            present = metadata.ensure(pod).get(part) or {}
            metadata.ensure(pod)[part] = {**present, **given}
    _scheduled(pod, now)


def _scheduled(pod: JsonObject, now: float) -> None:
    status = pod.setdefault("status", {})
    others = [c for c in status.get("conditions") or () if c.get("type") != "PodScheduled"]
    mark = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": format_time(now),
    }
    status["conditions"] = [*others, mark]


def _violations(binding: Mapping[str, Any]) -> list[FieldError]:
    target = binding.get("target") or {}
    kind, found = target.get("kind") or "", []
    if kind not in ("Node", ""):
        text = f'Unsupported value: "{kind}": supported values: "Node", "<empty>"'
        found.append(FieldError("target.kind", Reason.NOT_SUPPORTED, text))
    if not target.get("name"):
        found.append(field_error.required("target.name"))
    return found
