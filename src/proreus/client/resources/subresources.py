"""Parts of objects with verbs of their own: status, scale, a pod's logs, eviction and binding."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, cast

from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject
from proreus.api.object_type import Object
from proreus.api.patch.patch_type import PatchType
from proreus.api.wire.framing import LineSplitter
from proreus.client.resources.reading import ReadVerbs
from proreus.client.resources.writing import Patch, WriteVerbs
from proreus.client.rest.request import Query, RestRequest, query, require_name
from proreus.client.rest.retry import Mode

if TYPE_CHECKING:
    from proreus.api.kinds.autoscaling_v1 import Scale


class Subresources(ReadVerbs[Object], WriteVerbs[Object]):
    """Mixed into ``ResourceClient``. Which parts a resource has is the server's to say."""

    async def replace_status(
        self, body: Object | Json, *, dry_run: bool = False, field_manager: str = ""
    ) -> Object:
        """Put the status of ``body`` in place of the stored one; the rest of it is ignored."""
        return await self.replace(
            body, subresource="status", dry_run=dry_run, field_manager=field_manager
        )

    async def patch_status(
        self,
        name: str,
        patch: Patch,
        *,
        type: str | PatchType = "merge",  # noqa: A002  # the word of the API
        dry_run: bool = False,
        field_manager: str = "",
    ) -> Object:
        """Change parts of the status."""
        return await self.patch(
            name,
            patch,
            type=type,
            subresource="status",
            dry_run=dry_run,
            field_manager=field_manager,
        )

    async def apply_status(
        self, body: Object | Json, *, field_manager: str = "", force: bool = False
    ) -> Object:
        """Server-side apply of the status."""
        return await self.apply(
            body, subresource="status", field_manager=field_manager, force=force
        )

    async def get_scale(self, name: str) -> Scale:
        """The Scale: ``spec.replicas`` wanted, ``status.replicas`` there."""
        return cast("Scale", await self.get(name, subresource="scale"))  # the server's word

    async def set_scale(self, name: str, replicas: int) -> Scale:
        wanted = {"spec": {"replicas": replicas}}
        return cast("Scale", await self.patch(name, wanted, subresource="scale"))

    async def evict(
        self, name: str, *, grace_period_s: int | None = None, dry_run: bool = False
    ) -> KubeObject:
        """Delete a pod if its disruption budgets allow. Raises ``TooManyRequests`` if not."""
        options: JsonObject = {}
        if grace_period_s is not None:
            options["gracePeriodSeconds"] = grace_period_s
        eviction = {
            "kind": "Eviction",
            "apiVersion": "policy/v1",
            "metadata": {"name": require_name(name)},
            "deleteOptions": options,
        }
        return await self.create(eviction, subresource="eviction", dry_run=dry_run)

    async def bind(self, name: str, node: str) -> KubeObject:
        """Put a pod on a node, as the scheduler does."""
        binding = {
            "kind": "Binding",
            "apiVersion": "v1",
            "metadata": {"name": require_name(name)},
            "target": {"kind": "Node", "apiVersion": "v1", "name": node},
        }
        return await self.create(binding, subresource="binding")

    async def logs(
        self,
        name: str,
        *,
        container: str = "",
        previous: bool = False,
        since_s: int = 0,
        tail_lines: int | None = None,
        timestamps: bool = False,
    ) -> str:
        """What a container has written so far."""
        asked = _log_query(container, previous, since_s, tail_lines, timestamps)
        path = await self._scope.object_path(require_name(name), subresource="log")
        answer = await self._scope.rest.send(RestRequest("get", "GET", path, asked, accept="*/*"))
        return answer.body.decode("utf-8", "replace")

    @contextlib.asynccontextmanager
    async def follow_logs(
        self,
        name: str,
        *,
        container: str = "",
        since_s: int = 0,
        tail_lines: int | None = None,
        timestamps: bool = False,
    ) -> AsyncIterator[AsyncIterator[str]]:
        """Line after line as a container writes them, until it ends."""
        asked = (*_log_query(container, False, since_s, tail_lines, timestamps), ("follow", "true"))
        path = await self._scope.object_path(require_name(name), subresource="log")
        request = RestRequest("get", "GET", path, asked, accept="*/*")
        async with self._scope.rest.open_stream(request, Mode.STREAM) as stream:
            yield _lines(stream.chunks())


def _log_query(
    container: str, previous: bool, since_s: int, tail_lines: int | None, timestamps: bool
) -> Query:
    tail = None if tail_lines is None else str(tail_lines)
    return query(
        (
            ("container", container),
            ("previous", previous),
            ("sinceSeconds", since_s),
            ("tailLines", tail),
            ("timestamps", timestamps),
        )
    )


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    splitter = LineSplitter(keep_empty=True)
    async for chunk in chunks:
        for line in splitter.feed(chunk):
            yield line.decode("utf-8", "replace")
    if rest := splitter.finish():
        yield rest.decode("utf-8", "replace")
