"""Calls to an etcd cluster: one channel per endpoint, own failover, login, a deadline on each call.

A read is tried at every endpoint until its time is over. A write is tried elsewhere only if it
surely did nothing; otherwise its outcome is unknown and it fails with ``Unavailable``:
trying again could do it twice.

Cost: one gRPC call per request and about 5 µs around it.
"""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from google.protobuf.message import DecodeError

from proreus.aio.clock import Clock, SystemClock, deadline
from proreus.lazy_dataclass import dataclass
from proreus.net.grpc.channel import Channel, GrpcTarget
from proreus.net.grpc.connection import MessageStream
from proreus.net.grpc.failures import RpcFailed
from proreus.net.grpc.header_blocks import Metadata
from proreus.net.tls.contexts import checking_context
from proreus.net.tls.key_pairs import PairFiles
from proreus.server.storage.etcd import messages
from proreus.server.storage.etcd.config import EtcdConfig, place
from proreus.server.storage.etcd.errors import EndpointFailed, TokenExpired, translated, unavailable
from proreus.server.storage.interface import AccessDenied, Unavailable

_ROUND_PAUSE_S = 0.1
# With it a member that lost its leader says so at once, before it does anything.
_NO_TOKEN: Metadata = (("hasleader", "true"),)


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
_RANGE_STREAM_PATH = "/etcdserverpb.KV/RangeStream"
_WATCH_PATH = "/etcdserverpb.Watch/Watch"


class EtcdEndpoint:
    """One member: its channel and the calls made on it."""

    def __init__(self, url: str, tls: ssl.SSLContext | None, timeout_s: float) -> None:
        self.url = url
        # The peer's time is the machine's, whatever clock a test moves.
        self._channel = Channel(GrpcTarget(*place(url), tls), SystemClock(), timeout_s)

    async def call(self, method: Method, request: Any, metadata: Metadata) -> Any:
        try:
            answer = await self._channel.call(method.path, request.SerializeToString(), metadata)
            return method.answer.FromString(answer)
        except RpcFailed as failure:
            raise translated(failure) from failure
        except DecodeError as wrong:
            raise EndpointFailed(f"an answer that is none: {wrong}", is_unsent=False) from wrong

    def watch_stream(
        self, request: Any, metadata: Metadata
    ) -> AbstractAsyncContextManager[MessageStream]:
        """A stream of watch requests and responses; the first request is ``request``."""
        return self._channel.stream(_WATCH_PATH, request.SerializeToString(), metadata)

    async def read_range_stream(self, request: Any, metadata: Metadata, timeout_s: float) -> Any:
        """A whole range, which comes in pieces; each has the time of a call."""
        whole = messages.RangeStreamResponse()
        asked = request.SerializeToString()
        try:
            async with self._channel.stream(
                _RANGE_STREAM_PATH, asked, metadata, ends=True
            ) as pieces:
                while True:
                    async with deadline(SystemClock(), timeout_s):
                        read = await pieces.read()
                    if not read:
                        return whole.range_response
                    for piece in read:
                        whole.MergeFromString(piece)
        except RpcFailed as failure:
            raise translated(failure) from failure
        except TimeoutError:
            raise EndpointFailed("no answer in time", is_unsent=False) from None
        except DecodeError as wrong:
            raise EndpointFailed(f"an answer that is none: {wrong}", is_unsent=False) from wrong

    async def close(self) -> None:
        await self._channel.close()

    def __repr__(self) -> str:
        return f"<EtcdEndpoint {self.url}>"


class EtcdClient:
    """See the module. Opened by ``open``; belongs to one event loop."""

    def __init__(self, config: EtcdConfig, clock: Clock) -> None:
        self.config = config
        self._clock = clock
        tls, timeout_s = _tls(config), config.attempt_timeout_s
        self._endpoints = [EtcdEndpoint(url, tls, timeout_s) for url in config.endpoints]
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
                return await endpoint.call(method, request, metadata)
            except TokenExpired as expired:
                if is_logged_in or not self.config.username:
                    raise AccessDenied(f"etcd refuses access: {expired}") from expired
                await self.log_in(metadata)
                is_logged_in = True
                continue
            except EndpointFailed as failed:
                if self.is_closed():
                    break
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
        try:
            return await endpoint.call(method, request, metadata)
        except TokenExpired:
            await self.log_in(metadata)
            return await endpoint.call(method, request, self.metadata)

    async def read_range_stream(self, request: Any) -> Any | None:
        """One attempt to read a range at once; None: read it in pages, by ``call``.

        Raises a StorageError, RevisionCompacted, RevisionInFuture.
        """
        endpoint, timeout_s = self._endpoints[self._preferred], self.config.attempt_timeout_s
        try:
            return await endpoint.read_range_stream(request, self.metadata, timeout_s)
        except (EndpointFailed, TokenExpired):
            return None

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


def _tls(config: EtcdConfig) -> ssl.SSLContext | None:
    if not config.is_tls:
        return None
    pair = None
    if config.certificate_file is not None and config.key_file is not None:
        pair = PairFiles(config.certificate_file, config.key_file)
    try:
        return checking_context(config.ca_file, pair, "h2")
    except ssl.SSLError as unusable:
        files = (config.ca_file, config.certificate_file, config.key_file)
        names = ", ".join(str(file) for file in files if file is not None)
        raise AccessDenied(
            f"the certificates for etcd cannot be used ({names}): {unusable}"
        ) from unusable
