"""DefaultStorageClass and DefaultIngressClass: what names no class gets the cluster's default one.

Of several classes that are marked the newest counts, of equally old ones the first by name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from proreus.api.group_version import GroupResource
from proreus.api.json_types import Json, JsonObject
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.plugins import lookup
from proreus.server.registry.admission import CREATE, Attributes
from proreus.server.registry.collection import Collection

_MARKED = b"is-default-class"


@dataclass(frozen=True, slots=True)
class ClassField:
    """Where objects of a resource name their class, and which annotations mark a default class."""

    resource: GroupResource
    field: str  # of the spec
    annotation: str  # its predecessor
    marks: tuple[str, ...]


STORAGE_CLASS = ClassField(
    GroupResource("", "persistentvolumeclaims"),
    "storageClassName",
    "volume.beta.kubernetes.io/storage-class",
    (
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ),
)
INGRESS_CLASS = ClassField(
    GroupResource("networking.k8s.io", "ingresses"),
    "ingressClassName",
    "kubernetes.io/ingress.class",
    ("ingressclass.kubernetes.io/is-default-class",),
)


class DefaultClass:
    def __init__(self, place: ClassField, classes: Collection) -> None:
        self._place = place
        self._classes = classes

    def set_class(self, attributes: Attributes) -> Awaitable[None] | None:
        place, obj = self._place, attributes.obj
        group, plural = place.resource.group, place.resource.resource
        if not attributes.is_of(CREATE, group, plural) or obj is None:
            return None
        spec = obj.setdefault("spec", {})
        if spec.get(place.field) is not None or place.annotation in _annotations(obj):
            return None
        return lookup.with_each(_choice(spec, place), self._classes, having=_MARKED)


def _choice(spec: JsonObject, place: ClassField) -> Callable[[lookup.Objects], None]:
    def is_marked(one: Json) -> bool:
        return any(_annotations(one).get(mark) == "true" for mark in place.marks)

    def choose(classes: lookup.Objects) -> None:
        marked = [one for one in classes if is_marked(one)]
        marked.sort(key=lambda one: str(one["metadata"]["name"]))
        if marked:
            newest = max(marked, key=lambda one: str(one["metadata"].get("creationTimestamp")))
            spec[place.field] = newest["metadata"]["name"]

    return choose


def _annotations(obj: Json) -> Json:
    return obj["metadata"].get("annotations") or {}
