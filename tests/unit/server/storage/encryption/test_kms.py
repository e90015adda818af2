"""Values whose keys a key management service encrypts; the service is a real gRPC server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from proreus.server.storage.encryption.configuration import Kms
from proreus.server.storage.encryption.kms import KmsKey, open_kms
from proreus.server.storage.encryption.transformers import Undecryptable
from proreus.server.storage.health import Healthy
from proreus.server.storage.interface import Unavailable
from proreus.server.storage.protobuf_tables import message_classes
from proreus.testing.virtual_clock import VirtualClock

AT = "/registry/secrets/default/a"
ANNOTATION = "version.kms.example.com"

# The service's own reading of the interface, so that both are not wrong in the same way.
_of = message_classes(
    "v2",
    {
        "Entry": "key:1:string value:2:bytes",
        "StatusRequest": "",
        "StatusResponse": "version:1:string healthz:2:string key_id:3:string",
        "DecryptRequest": "ciphertext:1:bytes uid:2:string key_id:3:string annotations:4:Entry*",
        "DecryptResponse": "plaintext:1:bytes",
        "EncryptRequest": "plaintext:1:bytes uid:2:string",
        "EncryptResponse": "ciphertext:1:bytes key_id:2:string annotations:3:Entry*",
    },
)


class KeyServer(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """Encrypts by turning bytes around; says no to anything it did not write."""

    def __init__(self) -> None:
        self.key_id = "key-1"
        self.healthz = "ok"
        self.decrypted = 0
        self.refusal: grpc.StatusCode | None = None  # of what it is asked to decrypt

    def service(self, details: Any) -> Any:
        name = details.method.rpartition("/")[2]
        assert details.method == f"/v2.KeyManagementService/{name}"
        return grpc.unary_unary_rpc_method_handler(
            getattr(self, f"_{name.lower()}"),
            request_deserializer=_of(f"{name}Request").FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )

    async def _status(self, _: Any, __: Any) -> Any:
        return _of("StatusResponse")(version="v2", healthz=self.healthz, key_id=self.key_id)

    async def _encrypt(self, request: Any, _: Any) -> Any:
        assert request.uid
        return _of("EncryptResponse")(
            ciphertext=request.plaintext[::-1],
            key_id=self.key_id,
            annotations=[{"key": ANNOTATION, "value": b"1"}],
        )

    async def _decrypt(self, request: Any, context: Any) -> Any:
        if self.refusal is not None:
            await context.abort(self.refusal, "no")
        assert [(one.key, one.value) for one in request.annotations] == [(ANNOTATION, b"1")]
        self.decrypted += 1
        return _of("DecryptResponse")(plaintext=request.ciphertext[::-1])


@asynccontextmanager
async def serving(handler: KeyServer, endpoint: str) -> AsyncIterator[None]:
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((handler,))
    server.add_insecure_port(endpoint)
    await server.start()
    try:
        yield
    finally:
        await server.stop(None)


@pytest.fixture
def endpoint(tmp_path: Path) -> str:
    return f"unix://{tmp_path}/kms"


async def decrypted(key: KmsKey, stored: bytes) -> bytes:
    if (preparing := key.prepare(stored)) is not None:
        await preparing
    return key.decrypt(AT, stored)


async def test_another_process_reads_what_was_written_and_asks_once_for_each_seed(
    endpoint: str,
) -> None:
    handler, clock = KeyServer(), VirtualClock()
    provider = Kms("k", endpoint)
    async with (
        serving(handler, endpoint),
        open_kms(provider, clock) as writer,
        open_kms(provider, clock) as reader,
    ):
        stored = [writer.encrypt(AT, b"one"), writer.encrypt(AT, b"two")]

        found = [await decrypted(reader, each) for each in stored]

        assert found == [b"one", b"two"]
        assert handler.decrypted == 1
        assert isinstance(writer.health, Healthy)
        with pytest.raises(Undecryptable):
            writer.prepare(b"garbage")


async def test_a_new_key_of_the_service_makes_what_was_written_before_stale(endpoint: str) -> None:
    handler, clock = KeyServer(), VirtualClock()
    async with serving(handler, endpoint), open_kms(Kms("k", endpoint), clock) as key:
        before = key.encrypt(AT, b"one")
        assert not key.is_stale(before)

        handler.key_id = "key-2"
        await clock.advance(60)
        await key.follow_when_due()

        assert key.is_stale(before)
        assert not key.is_stale(key.encrypt(AT, b"one"))
        assert await decrypted(key, before) == b"one"


async def test_a_service_that_is_gone_is_reported_and_after_three_minutes_nothing_is_written(
    endpoint: str,
) -> None:
    handler, clock = KeyServer(), VirtualClock()
    async with open_kms(Kms("k", endpoint, 1.0), clock) as key:
        with pytest.raises(Unavailable):
            key.encrypt(AT, b"one")
        async with serving(handler, endpoint):
            await wait_healthy(key)
            stored = key.encrypt(AT, b"one")
        await clock.advance(60)
        await key.follow_when_due()

        assert not isinstance(key.health, Healthy)
        assert key.encrypt(AT, b"one")
        await clock.advance(121)
        with pytest.raises(Unavailable, match="key management service k has not answered"):
            key.encrypt(AT, b"one")
        assert await decrypted(key, stored) == b"one"


async def wait_healthy(key: KmsKey) -> None:
    """gRPC waits a moment before it connects again."""
    while not isinstance(key.health, Healthy):
        await key.follow()


async def test_a_service_that_is_not_well_is_not_used(endpoint: str) -> None:
    handler = KeyServer()
    handler.healthz = "no quorum"
    async with (
        serving(handler, endpoint),
        open_kms(Kms("k", endpoint), VirtualClock()) as key,
    ):
        assert not isinstance(key.health, Healthy)
        with pytest.raises(Unavailable):
            key.encrypt(AT, b"one")


@pytest.mark.parametrize(
    ("refusal", "raised"),
    [
        (grpc.StatusCode.NOT_FOUND, Undecryptable),
        (grpc.StatusCode.UNKNOWN, Unavailable),
        (grpc.StatusCode.UNAVAILABLE, Unavailable),
    ],
)
async def test_a_seed_whose_key_is_gone_is_given_up_and_an_outage_is_not(
    endpoint: str, refusal: grpc.StatusCode, raised: type[Exception]
) -> None:
    handler, clock, provider = KeyServer(), VirtualClock(), Kms("k", endpoint)
    async with (
        serving(handler, endpoint),
        open_kms(provider, clock) as writer,
        open_kms(provider, clock) as reader,
    ):
        stored = writer.encrypt(AT, b"one")
        handler.refusal = refusal

        with pytest.raises(raised, match=refusal.name):
            await decrypted(reader, stored)
