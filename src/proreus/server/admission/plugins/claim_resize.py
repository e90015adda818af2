"""PersistentVolumeClaimResize: claims grow only if their storage class allows it."""

from __future__ import annotations

from collections.abc import Awaitable
from fractions import Fraction

from proreus.api.json_types import Json
from proreus.api.values import quantity
from proreus.server.admission.plugins import lookup
from proreus.server.admission.plugins.refusal import Refused, as_forbidden
from proreus.server.registry.admission import UPDATE, Attributes
from proreus.server.registry.collection import Collection

_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"


class PersistentVolumeClaimResize:
    def __init__(self, classes: Collection) -> None:
        self._classes = classes

    def check_growth(self, attributes: Attributes) -> Awaitable[None] | None:
        if not attributes.is_of(UPDATE, "", "persistentvolumeclaims"):
            return None
        new, old = attributes.obj or {}, attributes.old or {}
        if _size(new) <= _size(old):
            return None
        return self._check(attributes, new, old)

    async def _check(self, attributes: Attributes, new: Json, old: Json) -> None:
        with as_forbidden(attributes):
            if (old.get("status") or {}).get("phase") != "Bound":
                raise Refused("Only bound persistent volume claims can be expanded")
            name = _class(new)
            found = None
            if name and name == _class(old):
                found = await lookup.find(self._classes, name)
            if found is None or not found.get("allowVolumeExpansion"):
                raise Refused(
                    "only dynamically provisioned pvc can be resized and the storageclass that "
                    "provisions the pvc must support resize"
                )


def _size(claim: Json) -> Fraction:
    resources = (claim.get("spec") or {}).get("resources") or {}
    return quantity.amount((resources.get("requests") or {}).get("storage"))


def _class(claim: Json) -> str:
    annotations = claim["metadata"].get("annotations") or {}
    return str(annotations.get(_OLD_CLASS, claim["spec"].get("storageClassName")) or "")
