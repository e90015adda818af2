"""The objects of a request in the version that a webhook or a policy is about, and back as they are
stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from proreus.api.group_version import GroupVersionKind, GroupVersionResource
from proreus.api.json_types import JsonObject
from proreus.api.status import ApiError, InternalError
from proreus.api.typed import TypeNode
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.server.offload import INLINE, Lane
from proreus.server.registry.admission import Attributes
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.kinds import KnownKinds
from proreus.server.resource import Resource
from proreus.server.resource.conversion import Convert

_LARGE_BYTES = 256 * 1024
Make = Callable[[JsonObject, TypeNode | None], JsonObject]  # of an object and its type


@dataclass(frozen=True, slots=True)
class MatchedKind:
    """What the rules of a webhook or policy are about: the request's own kind, or another version
    of it."""

    resource: GroupVersionResource
    kind: GroupVersionKind


@dataclass(slots=True, eq=False)
class ObjectVersions:
    """Resources that share their stored objects are equivalent."""

    catalog: Catalog
    kinds: KnownKinds
    convert: Convert
    large_objects: Lane
    _generation: int = field(init=False, default=-1)
    _equivalents: dict[str, tuple[GroupVersionResource, ...]] = field(
        init=False, default_factory=dict
    )

    def equivalents(self, resource: Resource) -> Sequence[GroupVersionResource]:
        if self._generation != self.catalog.generation:
            found: dict[str, list[GroupVersionResource]] = {}
            for one in self.catalog:
                found.setdefault(one.prefix, []).append(one.gvr)
            self._equivalents = {prefix: tuple(all_of) for prefix, all_of in found.items()}
            self._generation = self.catalog.generation
        return self._equivalents.get(resource.prefix, ())

    def matched(self, attributes: Attributes, resource: GroupVersionResource) -> MatchedKind:
        """Raises InternalError if the resource is not served any more."""
        if resource == attributes.resource.gvr or attributes.kind != attributes.resource.gvk:
            return MatchedKind(resource, attributes.kind)
        found = self.catalog.lookup(resource.group, resource.version, resource.resource)
        if found is None:
            raise InternalError.of(f"unable to convert to {resource}: unknown kind")
        return MatchedKind(resource, found.gvk)

    async def converted(
        self, attributes: Attributes, obj: JsonObject | None, kind: GroupVersionKind
    ) -> JsonObject | None:
        """Raises InternalError."""
        if obj is None or obj.get("apiVersion") == kind.api_version:
            return obj
        if obj.get("kind") != kind.kind:
            return obj  # a part that has one version
        versions = attributes.resource.versions
        try:
            if versions is None:
                return self.convert(obj, kind)
            return await versions.converted(obj, kind.api_version)
        except KeyError as error:
            raise InternalError.of(f"unable to convert to {kind}") from error
        except ApiError as error:
            raise InternalError.of(error.message) from error

    async def change(self, attributes: Attributes, kind: GroupVersionKind, make: Make) -> bool:
        """Put what ``make`` makes of the request's object, in the version of ``kind``, into its
        place, with defaults. Whether it is another one then. Raises what ``make`` raises, and
        InternalError.
        """
        stored = attributes.obj
        assert stored is not None, "a change of nothing is refused before"
        before = await self.converted(attributes, stored, kind)
        assert before is not None
        size = len(json.encode(before))
        runner = self.large_objects if size > _LARGE_BYTES else INLINE
        node = self.kinds.node(kind)
        made = await runner.run(lambda: make(before, node))
        if made is before:
            return False
        own = GroupVersionKind(*_split(stored["apiVersion"]), kind.kind)
        back = await self.converted(attributes, made, own)
        assert back is not None
        if attributes.kind == attributes.resource.gvk:
            await runner.run(lambda: attributes.resource.rules.default(back))
        is_changed = back != stored
        # The verb holds the object itself.
        stored.clear()
        stored.update(back)
        return is_changed


def _split(api_version: str) -> tuple[str, str]:
    group, _, version = api_version.rpartition("/")
    return group, version
