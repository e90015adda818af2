"""Owner references: who owns an object, and who controls it. Pure.

What an owner controls is deleted with it by the garbage collector, and its changes concern the
owner (``Controller(owns=…)``).
"""

from __future__ import annotations

from typing import Any

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject, ObjectLike


def owner_reference(owner: KubeObject) -> JsonObject:
    """A reference without control: an object may have several such owners."""
    return {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
    }


def controller_reference(owner: KubeObject) -> JsonObject:
    """The reference by which an owner controls; an object has one at most."""
    return {**owner_reference(owner), "controller": True, "blockOwnerDeletion": True}


def controller_of(obj: KubeObject) -> Any:
    """The reference to the object that controls this one, or None. Its uid and its name alone are
    ``obj.controller_uid`` and ``obj.controller_name``, and cost nothing."""
    for reference in obj.metadata.ownerReferences or ():
        if reference.get("controller"):
            return reference
    return None


def controlled_by(owner: KubeObject, body: ObjectLike) -> JsonObject:
    """A copy of ``body`` that ``owner`` controls, in the owner's namespace if it names none.

    Raises ValueError if another controls it, or if the owner is in another namespace: the garbage
    collector would take such an object for an orphan.
    """
    content = {**body.to_dict()} if isinstance(body, KubeObject) else {**body}
    metadata = content["metadata"] = {**(content.get("metadata") or {})}
    namespace = metadata.get("namespace") or owner.namespace
    if owner.namespace and namespace != owner.namespace:
        raise ValueError(f"{owner!r} cannot own an object in the namespace {namespace}")
    if namespace:
        metadata["namespace"] = namespace
    others = [one for one in metadata.get("ownerReferences") or () if one.get("uid") != owner.uid]
    if any(one.get("controller") for one in others):
        raise ValueError(f"{metadata.get('name')} is controlled by another object")
    metadata["ownerReferences"] = [*others, controller_reference(owner)]
    return content
