"""What an update wants, however often it is tried."""

from __future__ import annotations

from proreus.api.wire import json
from proreus.server.http.handlers.update import wanted_again

BODY = b'{"metadata":{"name":"a"},"data":{"x":"1"}}'


async def test_no_attempt_sees_what_the_one_before_did_to_its_object() -> None:
    decoded: list[bytes] = []

    async def decode() -> dict[str, object]:
        decoded.append(BODY)
        found: dict[str, object] = json.decode(BODY)
        return found

    make = wanted_again(await decode(), decode)
    for _ in range(3):
        wanted = await make(None)

        assert wanted == json.decode(BODY)
        wanted.clear()

    assert len(decoded) == 3, "the first attempt takes what was decoded to be checked"
