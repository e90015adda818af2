"""What an update wants, however often it is tried."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from proreus.api.wire import json
from proreus.server.offload import INLINE
from proreus.server.registry.verbs.update import Replacement

BODY = b'{"metadata":{"name":"a"},"data":{"x":"1"}}'


async def test_no_attempt_sees_what_the_one_before_did_to_its_object() -> None:
    write: Any = SimpleNamespace(runner=INLINE)
    decoded = json.decode(BODY)
    replacement = Replacement(decoded)

    for attempt in range(3):
        wanted = await replacement.modify(write, None)

        assert wanted == json.decode(BODY)
        assert (wanted is decoded) == (attempt == 0), "the first takes what was decoded already"
        wanted.clear()
