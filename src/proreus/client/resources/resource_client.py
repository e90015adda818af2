"""ResourceClient: every verb of one resource, in one namespace or all.

pods = client.core_v1.pods               all namespaces
pods("default").get("web")               one namespace
pods("default").metadata_only.list()     only the metadata of each
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

from proreus.api.object_type import Object
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.resources import waiting
from proreus.client.resources.commands import Commands
from proreus.client.resources.modifying import ModifyVerbs
from proreus.client.resources.scope import ResourceScope
from proreus.client.resources.subresources import Subresources
from proreus.client.rest.request import require_name


class ResourceClient(ModifyVerbs[Object], Subresources[Object], Commands):
    """Immutable and cheap: make one per namespace as you go."""

    def __init__(self, scope: ResourceScope[Object]) -> None:
        self._scope = scope

    def __call__(self, namespace: str = "") -> ResourceClient[Object]:
        """The same resource in one namespace; "" means all."""
        return ResourceClient(self._scope.inside(namespace))

    @property
    def namespace(self) -> str:
        return self._scope.namespace

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
        check = (
            waiting.condition_from(condition)
            if isinstance(condition, str)
            else cast("waiting.Condition", condition)
        )
        found = await (await self._wait(name, timeout_s)).for_condition(check)
        return cast("Object", found)  # it lists this kind

    async def wait_deleted(self, name: str, *, uid: str = "", timeout_s: float = 30.0) -> None:
        """Wait until the object is gone; with ``uid``, also if another has its name by then.
        Raises ``ConditionNotMet``."""
        await (await self._wait(name, timeout_s)).for_deletion(uid)

    async def _wait(self, name: str, timeout_s: float) -> waiting.Wait:
        resource = await self._scope.resolved()
        scope = self._scope
        if resource.namespaced and not scope.namespace:
            scope = scope.inside(scope.rest.config.namespace)
        selected = ResourceClient(scope).list_watch(
            field_selector=f"metadata.name={require_name(name)}"
        )
        return waiting.Wait(selected, name, timeout_s, scope.rest.clock)

    def __repr__(self) -> str:
        where = f"in {self._scope.namespace}" if self._scope.namespace else "in all namespaces"
        return f"<ResourceClient {self._scope.label} {where}>"
