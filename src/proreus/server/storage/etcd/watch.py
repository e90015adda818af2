"""One watch of etcd: events in order, whole transactions, and how far it is.

Receives: WatchResponse, from a member of the cluster.  Hands on: ChangeBatch, to ``ingest``.
Invariant: a batch's revision is that of its last event, or one that etcd promised; never the header
of a response with events, which may be ahead of them (resuming there would lose events).

How far a quiet watch is, etcd reports when asked. Versions that may answer too early are not asked
(see ``version``): there the store writes a marker key, and the watch learns from that event, which
cannot overtake others. To see the marker such a watch covers the whole root and filters here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from google.protobuf.message import DecodeError

from proreus.aio.clock import Clock, deadline
from proreus.net.grpc.connection import MessageStream
from proreus.net.grpc.failures import RpcFailed
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

    def __init__(
        self,
        stream: MessageStream | None,
        prefix: str,
        after: int,
        *,
        with_old: bool = True,
        trusts_progress: bool,
    ) -> None:
        """Without a stream only ``take`` works."""
        self._with_old = with_old
        self._stream = stream
        self._prefix = prefix
        self._after = after
        self.trusts_progress = trusts_progress
        self._events: list[Any] = []  # of fragments, until the last one is here
        self._responses: deque[Any] = deque()  # read and not taken; bound: one read's

    def __aiter__(self) -> EtcdWatch:
        return self

    async def __anext__(self) -> ChangeBatch:
        """Everything that is here, in one batch."""
        while True:
            # No deadline: a quiet watch is legal; keep-alive finds a dead connection.
            try:
                await self.wait_response()
            except EndpointFailed as lost:
                raise unavailable({"watch": str(lost)}) from lost
            batches: list[ChangeBatch] = []
            while self._responses:
                if self._responses[0].canceled and batches:
                    break  # what came before it is handed on first
                if (batch := self.take(self._responses.popleft())) is not None:
                    batches.append(batch)
            if len(batches) == 1:
                return batches[0]
            if batches:
                changes = tuple(change for batch in batches for change in batch.changes)
                return ChangeBatch(changes, batches[-1].revision)

    async def wait_response(self) -> None:
        """Until there is one. Raises EndpointFailed when the stream is over."""
        if self._responses:
            return
        assert self._stream is not None
        try:
            messages_read = await self._stream.read()
            self._responses += map(messages.WatchResponse.FromString, messages_read)
        except RpcFailed as failure:
            raise _ended(translated(failure)) from failure
        except DecodeError as wrong:
            raise EndpointFailed(f"a response that is none: {wrong}", is_unsent=False) from wrong
        if not messages_read:
            raise EndpointFailed("the stream was closed", is_unsent=False)

    async def wait_created(self) -> None:
        """Until etcd says that the watch has begun. Raises EndpointFailed, Compacted, …"""
        await self.wait_response()
        self.take(self._responses.popleft())

    def take(self, response: Any) -> ChangeBatch | None:
        """What a response adds up to; None: nothing to say yet."""
        if response.canceled:
            raise self._end(response)
        events = response.events
        if response.fragment:
            self._events += events
            return None
        if events:
            if self._events:
                events, self._events = [*self._events, *events], []
            return self._batch(events)
        is_progress = self.trusts_progress and not response.created
        if not is_progress or response.header.revision < self._after or self._events:
            return None
        self._after = response.header.revision
        return ChangeBatch((), self._after)

    def request_progress(self) -> None:
        """Ask; the answer comes as a batch."""
        assert self._stream is not None
        self._stream.send(_PROGRESS_REQUEST)

    def _batch(self, events: Sequence[Any]) -> ChangeBatch | None:
        """In one loop, as it runs for every write of every server: reading a field of a message
        costs as much as a call."""
        changes: list[Change] = []
        has_progress = False  # the marker was among them: a watch waits for progress
        prefix, with_old, revision = self._prefix, self._with_old, 0
        for event in events:
            kv = event.kv
            key, revision = text(kv.key), kv.mod_revision
            if _LAST_CHARACTER in key:
                has_progress = True
            elif key.startswith(prefix):
                old = self._old(key, event) if with_old else None
                is_deleted = event.type == messages.EVENT_DELETE
                new = None if is_deleted else StoredValue(key, kv.value, revision)
                changes.append(Change(revision, key, old, new))
        if revision <= self._after:
            return None
        self._after = revision
        return ChangeBatch(tuple(changes), revision) if changes or has_progress else None

    def _old(self, key: str, event: Any) -> StoredValue | None:
        if event.HasField("prev_kv"):
            return StoredValue(key, event.prev_kv.value, event.prev_kv.mod_revision)
        revision = event.kv.mod_revision
        if event.type == messages.EVENT_DELETE or event.kv.create_revision != revision:
            # The value before was compacted away while this watch was catching up.
            raise Compacted(self._after, revision)
        return None

    def _end(self, response: Any) -> Exception:
        if response.compact_revision:
            return Compacted(self._after, response.compact_revision)
        reason = response.cancel_reason or "no reason given"
        return unavailable({"watch": f"cancelled, {reason}"})

    def __repr__(self) -> str:
        return f"<EtcdWatch of {self._prefix} after {self._after}>"


@asynccontextmanager
async def open_watch(
    client: EtcdClient, clock: Clock, prefix: str, after: int, with_old: bool
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
        creation = _creation(prefix if trusts else client.config.root, after, with_old)
        try:
            async with AsyncExitStack() as opened:
                async with deadline(clock, client.config.attempt_timeout_s):
                    stream = await opened.enter_async_context(
                        endpoint.watch_stream(creation, client.metadata)
                    )
                    watch = EtcdWatch(
                        stream, prefix, after, with_old=with_old, trusts_progress=trusts
                    )
                    await watch.wait_created()
                left = opened.pop_all()
        except (EndpointFailed, RpcFailed, TimeoutError) as failed:
            reasons[endpoint.url] = str(failed) or "no answer in time"
            client.avoid(endpoint)
            continue
        async with left:
            yield watch
        return
    raise unavailable(reasons)


async def _trusts_progress(client: EtcdClient, endpoint: EtcdEndpoint) -> bool:
    """By this member's own version: a cluster may be in the middle of an upgrade."""
    status = await client.call_at(endpoint, STATUS, messages.StatusRequest())
    configured = client.config.trusts_progress
    return is_progress_safe(status.version) if configured is None else configured


def _creation(prefix: str, after: int, with_old: bool) -> Any:
    request = messages.WatchRequest()
    creation = request.create_request
    creation.key = prefix.encode()
    creation.range_end = keyspace.end_of(prefix).encode()
    creation.start_revision = after + 1
    creation.fragment = creation.progress_notify = True
    creation.prev_kv = with_old  # etcd reads it for every event, and sends it
    return request


def _progress_request() -> bytes:
    request = messages.WatchRequest()
    request.progress_request.SetInParent()
    serialized: bytes = request.SerializeToString()
    return serialized


_PROGRESS_REQUEST = _progress_request()


def _ended(failure: Exception) -> Exception:
    """A stream ends for one reason only where reading is concerned: it must be opened anew."""
    if isinstance(failure, EndpointFailed | StorageError):
        return failure
    return EndpointFailed(str(failure), is_unsent=False)


def text(key: bytes) -> str:
    """Keys that others wrote may be any bytes; they come back as they were."""
    return key.decode("utf-8", "surrogateescape")
