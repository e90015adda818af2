"""Which resource, in which namespace, in which form: what all verbs of a resource share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, cast

from proreus.api.object import KubeObject, ObjectLike
from proreus.api.object_list import ObjectList
from proreus.api.object_type import Object
from proreus.api.wire.framing import WatchEvent
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.rest.request import JSON, InvalidRequest, RestRequest, resource_path

if TYPE_CHECKING:
    from proreus.client.rest.client import RestClient

_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

Lookup = Callable[[], Awaitable[ApiResource]]


@dataclass(frozen=True, slots=True)
class ResourceScope(Generic[Object]):
    """``resource`` may still have to be looked up at the server. ``namespace`` None is the
    context's, "" all of them; it means the same to every verb."""

    rest: RestClient
    resource: ApiResource | Lookup
    label: str  # how the user named it
    namespace: str | None = None
    metadata_only: bool = False

    async def resolved(self) -> ApiResource:
        if isinstance(self.resource, ApiResource):
            return self.resource
        return await self.resource()

    def inside(self, namespace: str) -> ResourceScope[Object]:
        return ResourceScope(self.rest, self.resource, self.label, namespace, self.metadata_only)

    @property
    def chosen(self) -> str:
        """The namespace; "": all of them. As kubectl does: said nothing, the context's."""
        return self.rest.config.namespace if self.namespace is None else self.namespace

    async def collection_path(self) -> str:
        """All objects, of the namespace or of all."""
        resource = await self.resolved()
        namespace = self.chosen if self._is_namespaced(resource) else ""
        return resource_path(resource.group_version, resource.name, namespace=namespace)

    async def path_to_create(self, body: ObjectLike) -> str:
        """Where a new object goes: into our namespace, or its own."""
        resource = await self.resolved()
        return resource_path(
            resource.group_version, resource.name, namespace=self._namespace(resource, body)
        )

    async def object_path(
        self, name: str, *, subresource: str = "", body: ObjectLike | None = None
    ) -> str:
        """One object, or a part of it."""
        resource = await self.resolved()
        return resource_path(
            resource.group_version,
            resource.name,
            namespace=self._namespace(resource, body),
            name=name,
            subresource=subresource,
        )

    async def get_object(self, request: RestRequest) -> Object:
        """What a request for one object of this resource answers."""
        return self.typed(await self.rest.get_object(request))

    async def get_list(self, request: RestRequest) -> ObjectList[Object]:
        return cast("ObjectList[Object]", await self.rest.get_list(request))  # as in ``typed``

    def typed(self, obj: KubeObject) -> Object:
        return cast("Object", obj)  # declared kinds exist for type checkers only

    def typed_events(self, events: AsyncIterator[WatchEvent]) -> AsyncIterator[WatchEvent[Object]]:
        return cast("AsyncIterator[WatchEvent[Object]]", events)  # as in ``typed``

    @property
    def accept(self) -> str:
        return f"{_METADATA},{JSON}" if self.metadata_only else JSON

    @property
    def accept_list(self) -> str:
        return f"{_METADATA_LIST},{JSON}" if self.metadata_only else JSON

    def _namespace(self, resource: ApiResource, body: ObjectLike | None) -> str:
        """That of one object. Raises InvalidRequest where it is not certain."""
        if not self._is_namespaced(resource):
            return ""
        own = (body.get("metadata") or {}).get("namespace") if body is not None else ""
        if own and self.namespace and own != self.namespace:
            raise InvalidRequest(
                f"the object names namespace {own!r}, but {self.label} in {self.namespace!r} are "
                "meant: say one of the two"
            )
        if not own:
            self.require_namespace()
        return str(own or self.chosen)

    def require_namespace(self) -> None:
        """Raise InvalidRequest if one object is asked for and any namespace could be meant."""
        if self.namespace == "":
            raise InvalidRequest(
                f"{self.label} in all namespaces: one object is meant, say of which namespace with "
                "in_namespace(…)"
            )

    def _is_namespaced(self, resource: ApiResource) -> bool:
        if self.namespace and not resource.namespaced:
            raise InvalidRequest(
                f"{self.label} are in no namespace, {self.namespace!r} makes no sense for them"
            )
        return resource.namespaced
