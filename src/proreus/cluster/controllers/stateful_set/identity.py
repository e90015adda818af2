"""The identity of a StatefulSet's pod: its ordinal, name, labels and claims. Pure."""

from __future__ import annotations

import re

from proreus.api.frozen import thaw
from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject
from proreus.cluster.controllers.controller_revisions import POD_LABEL
from proreus.cluster.controllers.pod_template import desired_replicas, pod_from_template

NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"
_NAME = re.compile(r"(.*)-([0-9]{1,9})", re.ASCII)


def ordinals(stateful_set: KubeObject) -> range:
    """The numbers that should have a pod."""
    start = int((stateful_set.spec.ordinals or {}).get("start") or 0)
    return range(start, start + desired_replicas(stateful_set))


def ordinal_of(stateful_set: KubeObject, name: str) -> int | None:
    """The number in a pod's name; None if it is no name this set would give."""
    found = _NAME.fullmatch(name)
    if found is None or found[1] != stateful_set.name:
        return None
    number = int(found[2])
    return number if str(number) == found[2] else None


def pod_name(stateful_set: KubeObject, ordinal: int) -> str:
    return f"{stateful_set.name}-{ordinal}"


def claim_name(template: str, stateful_set: KubeObject, ordinal: int) -> str:
    return f"{template}-{pod_name(stateful_set, ordinal)}"


def revision_of(pod: KubeObject) -> str:
    return pod.labels.get(POD_LABEL, "")


def pod_for(stateful_set: KubeObject, template: Json, revision: str, ordinal: int) -> JsonObject:
    """``template`` is that of ``revision``, which need not be the set's present one."""
    pod = pod_from_template(template, stateful_set)
    name, metadata, spec = pod_name(stateful_set, ordinal), pod["metadata"], pod["spec"]
    del metadata["generateName"]
    metadata["name"] = name
    labels = {**(metadata.get("labels") or {}), POD_LABEL: revision}
    metadata["labels"] = {**labels, **identity_labels(stateful_set, ordinal)}
    spec["hostname"] = name
    spec["subdomain"] = stateful_set.spec.serviceName or ""
    claims = claim_volumes(stateful_set, ordinal)
    own = [one for one in spec.get("volumes") or () if one["name"] not in claims]
    spec["volumes"] = [*claims.values(), *own]
    return pod


def identity_labels(stateful_set: KubeObject, ordinal: int) -> dict[str, str]:
    return {NAME_LABEL: pod_name(stateful_set, ordinal), INDEX_LABEL: str(ordinal)}


def claim_volumes(stateful_set: KubeObject, ordinal: int) -> dict[str, JsonObject]:
    """A volume per claim template; they win over the pod template's of the same name."""
    return {
        name: {
            "name": name,
            "persistentVolumeClaim": {"claimName": claim_name(name, stateful_set, ordinal)},
        }
        for name in claim_templates(stateful_set)
    }


def claim_templates(stateful_set: KubeObject) -> dict[str, JsonObject]:
    found: list[JsonObject] = thaw(stateful_set.spec.volumeClaimTemplates or [])
    return {one["metadata"]["name"]: one for one in found}


def claims_for(stateful_set: KubeObject, ordinal: int) -> list[JsonObject]:
    """The claims a pod of this number needs, to be created where they are missing."""
    selected = thaw((stateful_set.spec.selector or {}).get("matchLabels") or {})
    found = []
    for name, template in claim_templates(stateful_set).items():
        own = template["metadata"]
        metadata = {
            "name": claim_name(name, stateful_set, ordinal),
            "namespace": stateful_set.namespace,
            "labels": {**(own.get("labels") or {}), **selected},
        }
        if own.get("annotations"):
            metadata["annotations"] = own["annotations"]
        found.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": metadata,
                "spec": template["spec"],
            }
        )
    return found


def has_identity(stateful_set: KubeObject, pod: KubeObject, ordinal: int) -> bool:
    wanted = identity_labels(stateful_set, ordinal)
    return all(pod.labels.get(label) == value for label, value in wanted.items())
