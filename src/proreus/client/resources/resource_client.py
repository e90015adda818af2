"""ResourceClient: every verb of one resource, in one namespace or all.

pods = client.core_v1.pods               in the namespace of the context, as kubectl means it
pods.in_namespace("web").get("a")        in that one; pods("web") is the same
pods.in_all_namespaces().list()          everywhere
pods("web").metadata_only.list()         only the metadata of each

What a namespace means does not depend on the verb. One object in all namespaces is refused, and so
is an object that names another namespace than this does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from proreus.api.object import KubeObject
from proreus.api.object_type import Object
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.resources.commands import Commands
from proreus.client.resources.modifying import ModifyVerbs
from proreus.client.resources.scope import ResourceScope
from proreus.client.resources.subresources import Subresources
from proreus.client.rest.request import InvalidRequest, require_name

if TYPE_CHECKING:
    from proreus.client.resources import waiting


class ResourceClient(ModifyVerbs[Object], Subresources[Object], Commands):
    """Immutable and cheap: make one per namespace as you go."""

    def __init__(self, scope: ResourceScope[Object]) -> None:
        self._scope = scope

    def in_namespace(self, namespace: str) -> ResourceClient[Object]:
        """The same resource in one namespace. Raises InvalidRequest if its name is empty."""
        if not namespace:
            raise InvalidRequest(
                f"{self._scope.label}: the namespace is empty; in_all_namespaces() means all"
            )
        return ResourceClient(self._scope.inside(namespace))

    __call__ = in_namespace

    def in_namespace_of(self, obj: KubeObject) -> ResourceClient[Object]:
        """The same resource where an object is, which may be in no namespace."""
        return self.in_namespace(obj.namespace) if obj.namespace else self

    def in_all_namespaces(self) -> ResourceClient[Object]:
        """The same resource everywhere: to list and to watch. A write must name its namespace."""
        return ResourceClient(self._scope.inside(""))

    @property
    def namespace(self) -> str:
        """ "": all of them."""
        return self._scope.chosen

    @property
    def is_builtin(self) -> bool:
        """Known without asking the server."""
        return isinstance(self._scope.resource, ApiResource)

    @property
    def metadata_only(self) -> ResourceClient:
        """The same, but objects come as PartialObjectMetadata: a fraction of the bytes."""
        return ResourceClient(replace(self._scope, metadata_only=True))

    async def api_resource(self) -> ApiResource:
        """What the server says about this resource. Raises ``UnknownResource``."""
        return await self._scope.resolved()

    async def wait_for(
        self, name: str, condition: Callable[[Object], bool] | str, *, timeout_s: float = 30.0
    ) -> Object:
        """Wait until the object is there and ``condition`` holds for it.

        A string is as for ``kubectl wait``: ``condition=Ready``, ``create``,
        ``jsonpath={.status.phase}=Running``. Raises ``ConditionNotMet``, a ``TimeoutError`` that
        knows the last state.
        """
        from proreus.client.resources import waiting  # JSONPath and all, for who waits

        check = (
            waiting.condition_from(condition)
            if isinstance(condition, str)
            else cast("waiting.Condition", condition)
        )
        found = await self._wait(name, timeout_s).for_condition(check)
        return cast("Object", found)  # it lists this kind

    async def wait_deleted(self, name: str, *, uid: str = "", timeout_s: float = 30.0) -> None:
        """Wait until the object is gone; with ``uid``, also if another has its name by then.
        Raises ``ConditionNotMet``."""
        await self._wait(name, timeout_s).for_deletion(uid)

    def _wait(self, name: str, timeout_s: float) -> waiting.Wait:
        from proreus.client.resources import waiting

        self._scope.require_namespace()
        selected = self.list_watch(field_selector=f"metadata.name={require_name(name)}")
        return waiting.Wait(selected, name, timeout_s, self._scope.rest.clock)

    def __repr__(self) -> str:
        match self._scope.namespace:
            case None:
                where = f"in {self.namespace}, the context's namespace"
            case "":
                where = "in all namespaces"
            case named:
                where = f"in {named}"
        return f"<ResourceClient {self._scope.label} {where}>"
