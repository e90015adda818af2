"""The groups of a client as its attributes. Type checkers read the stub beside this, which the
build makes; see ``client.resources.builtin_groups``."""

from __future__ import annotations

from typing import Any

from proreus.blocking.groups import GroupClient
from proreus.blocking.loop_thread import LoopThread
from proreus.client.client import Client


class BuiltinGroups:
    """Mixed into ``Client``. In a running program any group version of the server is there."""

    _client: Client
    _loop: LoopThread

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return GroupClient(getattr(self._client, name), self._loop)
