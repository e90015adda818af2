"""Calls to an etcd cluster: one channel per endpoint, own failover, login, a deadline on each call.

A read is tried at every endpoint until its time is over. A write is tried elsewhere only if it
surely did nothing; otherwise its outcome is unknown and it fails with ``Unavailable``:
trying again could do it twice.

Cost: one gRPC call per request and about 5 µs around it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import grpc

from proreus.aio.clock import Clock, SystemClock, deadline
from proreus.server.storage.etcd import messages
from proreus.server.storage.etcd.config import EtcdConfig, address
from proreus.server.storage.etcd.errors import EndpointFailed, TokenExpired, translated, unavailable
from proreus.server.storage.interface import AccessDenied, Unavailable

_ROUND_PAUSE_S = 0.1
_LEFTOVERS_S = 0.5

Metadata = tuple[tuple[str, str], ...]
# With it a member that lost its leader says so at once, before it does anything.
_NO_TOKEN: Metadata = (("hasleader", "true"),)

_OPTIONS = (
    # etcd limits what it takes; what it sends is paged by us and must not fail on a limit here.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # A peer that vanished without a word is found in 15 s; etcd forbids asking more often than 5 s.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.use_local_subchannel_pool", 1),
)


@dataclass(frozen=True, slots=True)
class Method:
    """A remote procedure. ``is_repeatable``: doing it twice is doing it once."""

    path: str
    answer: Any
    is_repeatable: bool


RANGE = Method("/etcdserverpb.KV/Range", messages.RangeResponse, is_repeatable=True)
TXN = Method("/etcdserverpb.KV/Txn", messages.TxnResponse, is_repeatable=False)
# The same, of nothing but reads.
READ_TXN = Method(TXN.path, TXN.answer, is_repeatable=True)
PUT = Method("/etcdserverpb.KV/Put", messages.PutResponse, is_repeatable=True)
COMPACT = Method("/etcdserverpb.KV/Compact", messages.CompactionResponse, is_repeatable=True)
# A lease granted twice ends by itself.
GRANT = Method("/etcdserverpb.Lease/LeaseGrant", messages.LeaseGrantResponse, is_repeatable=True)
TIME_TO_LIVE = Method(
    "/etcdserverpb.Lease/LeaseTimeToLive", messages.LeaseTimeToLiveResponse, is_repeatable=True
)
STATUS = Method("/etcdserverpb.Maintenance/Status", messages.StatusResponse, is_repeatable=True)
LOGIN = Method("/etcdserverpb.Auth/Authenticate", messages.AuthenticateResponse, is_repeatable=True)
_WATCH_PATH = "/etcdserverpb.Watch/Watch"


class EtcdEndpoint:
    """One member: its channel and the calls made on it."""

    def __init__(self, url: str, credentials: grpc.ChannelCredentials | None) -> None:
        self.url = url
        target = address(url)
        self._channel = (
            grpc.aio.secure_channel(target, credentials, options=_OPTIONS)
            if credentials is not None
            else grpc.aio.insecure_channel(target, options=_OPTIONS)
        )
        self._calls: dict[str, Any] = {}

    async def call(self, method: Method, request: Any, timeout_s: float, metadata: Metadata) -> Any:
        call = self._calls.get(method.path)
        if call is None:
            call = self._calls[method.path] = self._channel.unary_unary(
                method.path,
                request_serializer=_serialize,
                response_deserializer=method.answer.FromString,
            )
        try:
            return await call(request, timeout=timeout_s, metadata=metadata)
        except grpc.aio.AioRpcError as failure:
            raise translated(failure) from failure

    def watch_stream(self, metadata: Metadata) -> Any:
        """A stream of watch requests and responses, not yet started."""
        return self._channel.stream_stream(
            _WATCH_PATH,
            request_serializer=_serialize,
            response_deserializer=messages.WatchResponse.FromString,
        )(metadata=metadata)

    async def close(self) -> None:
        await self._channel.close()

    def __repr__(self) -> str:
        return f"<EtcdEndpoint {self.url}>"


class EtcdClient:
    """See the module. Opened by ``open``; belongs to one event loop."""

    def __init__(self, config: EtcdConfig, clock: Clock) -> None:
        self.config = config
        self._clock = clock
        credentials = _credentials(config)
        self._endpoints = [EtcdEndpoint(url, credentials) for url in config.endpoints]
        # Servers that share an etcd spread over its members.
        self._preferred = random.randrange(len(self._endpoints))
        self.metadata: Metadata = _NO_TOKEN
        self._login = asyncio.Lock()
        self._is_closed = False

    @classmethod
    @asynccontextmanager
    async def open(cls, config: EtcdConfig, clock: Clock) -> AsyncIterator[EtcdClient]:
        client = cls(config, clock)
        try:
            if config.username:
                await client.log_in(client.metadata)
            yield client
        finally:
            client._is_closed = True
            for endpoint in client._endpoints:
                await endpoint.close()
            with suppress(TimeoutError):
                async with deadline(SystemClock(), _LEFTOVERS_S):
                    await _leftovers_end()

    async def call(self, method: Method, request: Any) -> Any:
        """Raises a StorageError, or RevisionCompacted or RevisionInFuture where they can be."""
        give_up_at = self._clock.monotonic() + self.config.request_timeout_s
        reasons: dict[str, str] = {}
        is_logged_in = False
        while not self.is_closed():
            endpoint = self._endpoints[self._preferred]
            # An outdated token would make even the login fail.
            metadata = _NO_TOKEN if method is LOGIN else self.metadata
            try:
                return await endpoint.call(method, request, self.config.attempt_timeout_s, metadata)
            except TokenExpired as expired:
                if is_logged_in or not self.config.username:
                    raise AccessDenied(f"etcd refuses access: {expired}") from expired
                await self.log_in(metadata)
                is_logged_in = True
                continue
            except asyncio.CancelledError:
                # A closed channel cancels its calls, which is not the caller being cancelled.
                own = asyncio.current_task()
                if not self.is_closed() or own is None or own.cancelling():
                    raise
                break
            except EndpointFailed as failed:
                reasons[endpoint.url] = str(failed)
                self.avoid(endpoint)
                is_over = self._clock.monotonic() >= give_up_at
                if is_over or not (method.is_repeatable or failed.is_unsent):
                    raise unavailable(reasons) from failed
            if len(reasons) == len(self._endpoints):
                await self._clock.sleep(_ROUND_PAUSE_S)
        raise Unavailable("the store is closed")

    async def call_at(self, endpoint: EtcdEndpoint, method: Method, request: Any) -> Any:
        """One attempt at one endpoint. Raises EndpointFailed, StorageError."""
        metadata = self.metadata
        timeout_s = self.config.attempt_timeout_s
        try:
            return await endpoint.call(method, request, timeout_s, metadata)
        except TokenExpired:
            await self.log_in(metadata)
            return await endpoint.call(method, request, timeout_s, self.metadata)

    def is_closed(self) -> bool:
        return self._is_closed

    def in_turn(self) -> Iterator[EtcdEndpoint]:
        """Every endpoint once, the preferred one first."""
        first = self._preferred
        count = len(self._endpoints)
        return (self._endpoints[(first + step) % count] for step in range(count))

    def avoid(self, endpoint: EtcdEndpoint) -> None:
        """Prefer the next one, unless another call has moved on already."""
        if self._endpoints[self._preferred] is endpoint:
            self._preferred = (self._preferred + 1) % len(self._endpoints)

    async def log_in(self, outdated: Metadata) -> None:
        """Get a new token, unless another call got one since ``outdated``. Raises AccessDenied."""
        async with self._login:
            if self.metadata is not outdated:
                return
            request = messages.AuthenticateRequest(
                name=self.config.username, password=self.config.password
            )
            answer = await self.call(LOGIN, request)
            self.metadata = (*_NO_TOKEN, ("token", answer.token))

    def __repr__(self) -> str:
        others = len(self._endpoints) - 1
        also = f" and {others} more" if others else ""
        return f"<EtcdClient of {self._endpoints[self._preferred].url}{also}>"


def _serialize(message: Any) -> bytes:
    serialized: bytes = message.SerializeToString()
    return serialized


async def _leftovers_end() -> None:
    """Wait for gRPC's own tasks: each ends a moment after its stream, and none may outlive us.

    They look like those of another client in this loop, hence the short deadline.
    """
    leftovers = [
        task
        for task in asyncio.all_tasks()
        if "_AioCall." in getattr(task.get_coro(), "__qualname__", "")
    ]
    if leftovers:
        await asyncio.wait(leftovers)


def _credentials(config: EtcdConfig) -> grpc.ChannelCredentials | None:
    if not config.is_tls:
        return None
    return grpc.ssl_channel_credentials(
        root_certificates=config.ca_file.read_bytes() if config.ca_file else None,
        private_key=config.key_file.read_bytes() if config.key_file else None,
        certificate_chain=config.certificate_file.read_bytes() if config.certificate_file else None,
    )
