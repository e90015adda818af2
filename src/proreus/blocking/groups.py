"""``client.apps_v1.deployments``: groups and resources as attributes, without ``await``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proreus.blocking.loop_thread import LoopThread
from proreus.blocking.resource_client import ResourceClient
from proreus.client.resources import groups


class GroupClient:
    """One group version; its attributes are its resources."""

    def __init__(self, group: groups.GroupClient, loop: LoopThread) -> None:
        self._group = group
        self._loop = loop

    if not TYPE_CHECKING:  # they know the resources of ``builtin_groups``, and no others

        def __getattr__(self, plural: str) -> ResourceClient:
            return ResourceClient(getattr(self._group, plural), self._loop)

    def __repr__(self) -> str:
        return f"{self._group!r} (blocking)"
