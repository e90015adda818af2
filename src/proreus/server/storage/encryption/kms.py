"""A key management service behind a Unix socket (KMS version 2), and the seeds that it encrypts.

The service is asked rarely: once for the seed of this process, once for each seed of another one
that is read, and every minute how it is and which key it uses now. A new key of the service makes a
new seed, and what was written under the old key is stale. After three minutes without an answer
nothing is encrypted any more: the key may have been revoked. What was decrypted before still is.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import field
from typing import Any

import grpc

from proreus.aio.clock import Clock
from proreus.lazy_dataclass import dataclass
from proreus.server.storage.encryption.configuration import Kms
from proreus.server.storage.encryption.envelope import (
    SEED_BYTES,
    EncryptedSource,
    Envelope,
    seal,
    unseal,
)
from proreus.server.storage.encryption.transformers import Undecryptable
from proreus.server.storage.health import Health, HealthRecord, Healthy, Unreachable
from proreus.server.storage.interface import Unavailable
from proreus.server.storage.protobuf_tables import message_classes

_POLL_S = 60.0
_POLL_UNHEALTHY_S = 10.0
_SEED_USED_S = 180.0  # after the service was last heard of
_SOURCES_MAX = 1000  # seeds of other processes that are remembered
_CIPHERTEXT_BYTES_MAX = 1024
_KEY_ID_BYTES_MAX = 1024
_ANNOTATIONS_BYTES_MAX = 32 * 1024

# Answers about one seed that asking again will not change; others may be an outage's.
_FINAL = frozenset(
    {
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.DATA_LOSS,
    }
)

_of = message_classes(
    "v2",
    {
        "Annotation": "key:1:string value:2:bytes",
        "StatusRequest": "",
        "StatusResponse": "version:1:string healthz:2:string key_id:3:string",
        "DecryptRequest": "ciphertext:1:bytes uid:2:string key_id:3:string "
        "annotations:4:Annotation*",
        "DecryptResponse": "plaintext:1:bytes",
        "EncryptRequest": "plaintext:1:bytes uid:2:string",
        "EncryptResponse": "ciphertext:1:bytes key_id:2:string annotations:3:Annotation*",
    },
)


@dataclass(frozen=True, slots=True)
class _Seed:
    secret: bytes = field(repr=False)
    source: EncryptedSource


class KmsKey:
    """A transformer; see the module. ``follow_when_due`` is to be called every few seconds."""

    def __init__(self, provider: Kms, channel: grpc.aio.Channel, clock: Clock) -> None:
        self.prefix = b"k8s:enc:kms:v2:%s:" % provider.name.encode()
        self._record = HealthRecord(f"kms {provider.name}")
        self._provider = provider
        self._clock = clock
        self._calls = {name: _call(channel, name) for name in ("Status", "Encrypt", "Decrypt")}
        self._seed: _Seed | None = None
        self._asked_at = self._heard_at = clock.monotonic()
        self._secrets: dict[EncryptedSource, bytes] = {}  # in the order they were last fetched

    def encrypt(self, key: str, value: bytes) -> bytes:
        """Raises Unavailable."""
        if self._seed is None:
            raise Unavailable(f"the {self._name} has not encrypted a key yet")
        if self._clock.monotonic() - self._heard_at > _SEED_USED_S:
            raise Unavailable(f"the {self._name} has not answered for {_SEED_USED_S:.0f} s")
        data = seal(self._seed.secret, key, value)
        return Envelope(self._seed.source, data).encode()

    def decrypt(self, key: str, stored: bytes) -> bytes:
        envelope = Envelope.decode(stored)
        secret = self._secrets[envelope.source]  # ``prepare`` has fetched it
        return unseal(envelope.source, secret, key, envelope.data)

    def prepare(self, stored: bytes) -> Awaitable[None] | None:
        source = Envelope.decode(stored).source
        return None if source in self._secrets else self._fetch(source)

    def is_stale(self, stored: bytes) -> bool:
        seed = self._seed
        return seed is not None and Envelope.decode(stored).source.key_id != seed.source.key_id

    @property
    def health(self) -> Health:
        return self._record.now

    async def follow_when_due(self) -> None:
        every_s = _POLL_S if isinstance(self.health, Healthy) else _POLL_UNHEALTHY_S
        if self._clock.monotonic() - self._asked_at >= every_s:
            await self.follow()

    async def follow(self) -> None:
        """Ask how the service is; a new key of it makes a new seed."""
        self._asked_at = self._clock.monotonic()
        try:
            status = await self._ask("Status", "StatusRequest")
            if status.healthz != "ok" or status.version not in ("v2", "v2beta1"):
                raise Unavailable(f"the {self._name} says {status.healthz[:100]!r} of itself")
            if self._seed is None or self._seed.source.key_id != status.key_id:
                self._seed = await self._new_seed(status.key_id)
        except Unavailable as error:
            self._record.change(Unreachable(str(error)))
            return
        self._heard_at = self._clock.monotonic()
        self._record.change(Healthy())

    async def _new_seed(self, key_id: str) -> _Seed:
        secret = os.urandom(SEED_BYTES)
        answer = await self._ask("Encrypt", "EncryptRequest", plaintext=secret)
        annotations = tuple(sorted((one.key, one.value) for one in answer.annotations))
        size = sum(len(key) + len(value) for key, value in annotations)
        if (
            answer.key_id != key_id  # its key is being replaced: ask again
            or not 0 < len(answer.ciphertext) <= _CIPHERTEXT_BYTES_MAX
            or not 0 < len(answer.key_id.encode()) <= _KEY_ID_BYTES_MAX
            or size > _ANNOTATIONS_BYTES_MAX
        ):
            raise Unavailable(f"the {self._name} gave an answer that cannot be used")
        source = EncryptedSource(answer.ciphertext, answer.key_id, annotations)
        self._remember(source, secret)
        return _Seed(secret, source)

    async def _fetch(self, source: EncryptedSource) -> None:
        answer = await self._ask(
            "Decrypt",
            "DecryptRequest",
            ciphertext=source.ciphertext,
            key_id=source.key_id,
            annotations=[{"key": key, "value": value} for key, value in source.annotations],
        )
        self._remember(source, answer.plaintext)

    def _remember(self, source: EncryptedSource, secret: bytes) -> None:
        if len(self._secrets) >= _SOURCES_MAX:
            own = self._seed.source if self._seed else None
            self._secrets.pop(next(known for known in self._secrets if known != own))
        self._secrets[source] = secret

    async def _ask(self, method: str, request: str, **fields: Any) -> Any:
        if request != "StatusRequest":
            fields["uid"] = str(uuid.uuid4())
        try:
            return await self._calls[method](
                _of(request)(**fields), timeout=self._provider.timeout_s
            )
        except grpc.aio.AioRpcError as failure:
            # Its details may quote what was sent.
            why = f"the {self._name} answered {failure.code().name}"
            if method == "Decrypt" and failure.code() in _FINAL:
                raise Undecryptable(why) from None
            raise Unavailable(why) from None

    @property
    def _name(self) -> str:
        return f"key management service {self._provider.name}"

    def __repr__(self) -> str:
        return f"<KmsKey {self._provider.name}>"


@asynccontextmanager
async def open_kms(provider: Kms, clock: Clock) -> AsyncIterator[KmsKey]:
    """Asked once before it is used; it need not answer yet."""
    channel = grpc.aio.insecure_channel(provider.endpoint)
    try:
        key = KmsKey(provider, channel, clock)
        await key.follow()
        yield key
    finally:
        await channel.close()


def _call(channel: grpc.aio.Channel, method: str) -> Any:
    return channel.unary_unary(
        f"/v2.KeyManagementService/{method}",
        request_serializer=lambda message: message.SerializeToString(),
        response_deserializer=_of(f"{method}Response").FromString,
    )
