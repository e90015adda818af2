"""One watch of etcd: events in order, whole transactions, and how far it is.

Receives: WatchResponse, from a member of the cluster.  Hands on: ChangeBatch, to ``ingest``.
Invariant: a batch's revision is that of its last event, or one that etcd promised; never the header
of a response with events, which may be ahead of them (resuming there would lose events).

How far a quiet watch is, etcd reports when asked. Versions that may answer too early are not asked
(see ``version``): there the store writes a marker key, and the watch learns from that event, which
cannot overtake others. To see the marker such a watch covers the whole root and filters here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc

from proreus.aio.clock import Clock, deadline
from proreus.server.storage import keyspace
from proreus.server.storage.etcd import messages
from proreus.server.storage.etcd.client import STATUS, EtcdClient, EtcdEndpoint
from proreus.server.storage.etcd.errors import EndpointFailed, translated, unavailable
from proreus.server.storage.etcd.version import is_progress_safe
from proreus.server.storage.interface import (
    Change,
    ChangeBatch,
    Compacted,
    StorageError,
    StoredValue,
)

_LAST_CHARACTER = "\U0010ffff"


def marker(root: str) -> str:
    """The key written to learn of progress: behind every other, so that lists can stop before."""
    return f"{root}{_LAST_CHARACTER}proreus-progress"


class EtcdWatch:
    """An open watch: an async iterator. Ends by Compacted or Unavailable."""

    def __init__(self, stream: Any, prefix: str, after: int, *, trusts_progress: bool) -> None:
        self._stream = stream
        self._prefix = prefix
        self._after = after
        self.trusts_progress = trusts_progress
        self._events: list[Any] = []  # of fragments, until the last one is here
        # gRPC ends a stream whose reader or writer is cancelled; ours may wait with a deadline.
        self._reading: asyncio.Future[Any] | None = None
        self._asking: asyncio.Future[None] | None = None

    def __aiter__(self) -> EtcdWatch:
        return self

    async def __anext__(self) -> ChangeBatch:
        while True:
            # No deadline: a quiet watch is legal; keep-alive finds a dead connection.
            try:
                response = await self.read()
            except EndpointFailed as lost:
                raise unavailable({"watch": str(lost)}) from lost
            if (batch := self.take(response)) is not None:
                return batch

    async def read(self) -> Any:
        """The next response. Raises EndpointFailed when the stream is over."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._stream.read())
        try:
            response = await asyncio.shield(self._reading)
        except grpc.aio.AioRpcError as failure:
            raise _ended(translated(failure)) from failure
        except asyncio.CancelledError:
            if not self._reading.cancelled():
                raise  # the caller was
            raise EndpointFailed("the connection was closed", is_unsent=False) from None
        finally:
            if self._reading.done():
                self._reading = None
        if response is grpc.aio.EOF:
            raise EndpointFailed("the stream was closed", is_unsent=False)
        return response

    def take(self, response: Any) -> ChangeBatch | None:
        """What a response adds up to; None: nothing to say yet."""
        if response.canceled:
            raise self._end(response)
        if response.fragment or response.events:
            self._events += response.events
            if response.fragment:
                return None
            events, self._events = self._events, []
            return self._batch(events)
        is_progress = self.trusts_progress and not response.created
        if not is_progress or response.header.revision < self._after or self._events:
            return None
        self._after = response.header.revision
        return ChangeBatch((), self._after)

    async def request_progress(self) -> None:
        """Ask; the answer comes as a batch. A request that is on its way serves all who ask."""
        while self._asking is not None:  # sent before this call, its answer may be too early
            await asyncio.wait([self._asking])
        self._asking = asyncio.ensure_future(self._ask())
        await asyncio.shield(self._asking)

    async def _ask(self) -> None:
        request = messages.WatchRequest()
        request.progress_request.SetInParent()
        try:
            await self._stream.write(request)
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return  # the stream is over, which its reader learns
        finally:
            self._asking = None

    async def close(self) -> None:
        self._stream.cancel()
        left = [task for task in (self._reading, self._asking) if task is not None]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, self._stream.code(), return_exceptions=True)

    def _batch(self, events: list[Any]) -> ChangeBatch | None:
        changes: list[Change] = []
        has_progress = False  # the marker was among them: a watch waits for progress
        for event in events:
            key = text(event.kv.key)
            if _LAST_CHARACTER in key:
                has_progress = True
            elif key.startswith(self._prefix):
                changes.append(self._change(key, event))
        revision = events[-1].kv.mod_revision
        if revision <= self._after:
            return None
        self._after = revision
        return ChangeBatch(tuple(changes), revision) if changes or has_progress else None

    def _change(self, key: str, event: Any) -> Change:
        kv, revision = event.kv, event.kv.mod_revision
        is_deletion = event.type == messages.EVENT_DELETE
        old = None
        if event.HasField("prev_kv"):
            old = StoredValue(key, event.prev_kv.value, event.prev_kv.mod_revision)
        elif is_deletion or kv.create_revision != revision:
            # The value before was compacted away while this watch was catching up.
            raise Compacted(self._after, revision)
        return Change(revision, key, old, None if is_deletion else _value(key, kv))

    def _end(self, response: Any) -> Exception:
        if response.compact_revision:
            return Compacted(self._after, response.compact_revision)
        reason = response.cancel_reason or "no reason given"
        return unavailable({"watch": f"cancelled, {reason}"})

    def __repr__(self) -> str:
        return f"<EtcdWatch of {self._prefix} after {self._after}>"


@asynccontextmanager
async def open_watch(
    client: EtcdClient, clock: Clock, prefix: str, after: int
) -> AsyncIterator[EtcdWatch]:
    """Start a watch at the first member that takes it. Raises Compacted, Unavailable."""
    reasons: dict[str, str] = {}
    for endpoint in client.in_turn():
        try:
            trusts = await _trusts_progress(client, endpoint)
        except EndpointFailed as failed:
            reasons[endpoint.url] = str(failed)
            client.avoid(endpoint)
            continue
        stream = endpoint.watch_stream(client.metadata)
        watch = EtcdWatch(stream, prefix, after, trusts_progress=trusts)
        try:
            try:
                async with deadline(clock, client.config.attempt_timeout_s):
                    await _create(stream, prefix if trusts else client.config.root, after)
                    watch.take(await watch.read())
            except (EndpointFailed, TimeoutError) as failed:
                reasons[endpoint.url] = str(failed) or "no answer in time"
                client.avoid(endpoint)
                continue
            yield watch
            return
        finally:
            await watch.close()
    raise unavailable(reasons)


async def _trusts_progress(client: EtcdClient, endpoint: EtcdEndpoint) -> bool:
    """By this member's own version: a cluster may be in the middle of an upgrade."""
    status = await client.call_at(endpoint, STATUS, messages.StatusRequest())
    configured = client.config.trusts_progress
    return is_progress_safe(status.version) if configured is None else configured


async def _create(stream: Any, prefix: str, after: int) -> None:
    request = messages.WatchRequest()
    creation = request.create_request
    creation.key = prefix.encode()
    creation.range_end = keyspace.end_of(prefix).encode()
    creation.start_revision = after + 1
    creation.prev_kv = creation.fragment = creation.progress_notify = True
    try:
        await stream.write(request)
    except grpc.aio.AioRpcError as failure:
        raise _ended(translated(failure)) from failure


def _ended(failure: Exception) -> Exception:
    """A stream ends for one reason only where reading is concerned: it must be opened anew."""
    if isinstance(failure, EndpointFailed | StorageError):
        return failure
    return EndpointFailed(str(failure), is_unsent=False)


def _value(key: str, kv: Any) -> StoredValue:
    return StoredValue(key, kv.value, kv.mod_revision)


def text(key: bytes) -> str:
    """Keys that others wrote may be any bytes; they come back as they were."""
    return key.decode(errors="surrogateescape")
