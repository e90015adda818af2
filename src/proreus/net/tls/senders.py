"""The same bytes for many connections, encrypted and sent by several threads at once.

``ssl`` releases the interpreter lock while it encrypts and sends, which for large writes is nearly
all of their time: so the threads of a round run in parallel, and a server's watchers are served by
all cores. The loop's own thread leads a round and waits for its end.

Invariant: while a round runs the loop does nothing else, each connection is touched by one thread,
and threads do nothing but send: what could not be sent is queued by the leader afterwards. To its
callers a round is the same as a ``write`` to each.

Cost: the threads are woken and wait for the interpreter in turns, so only many large writes are
worth a round. A round stays in the queue until each thread has looked at it, seldom for long.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator, Sequence
from queue import SimpleQueue

from proreus.net.tls.transport import Buffer, TlsTransport, Unsent, pieces_of

# Below these a thread would wait for the interpreter more than it sends.
_CONNECTIONS_MIN = 32
_BYTES_MIN = 8 * 1024
_THREADS_MAX = 4


class Senders:
    """Threads start with the first round that needs them and end with ``close``."""

    def __init__(self, threads: int | None = None) -> None:
        """``threads``: those that help the loop's own; None: one for each further core."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self._count = min((cores or 1) - 1, _THREADS_MAX) if threads is None else threads
        self._threads: list[threading.Thread] = []
        self._rounds: SimpleQueue[_Round | None] = SimpleQueue()

    def write_to_all(self, transports: Sequence[asyncio.Transport], data: bytes) -> bool:
        """``write`` to each, on the loop's thread; whether any may not have taken all of it."""
        encrypted = [one for one in transports if isinstance(one, TlsTransport)]
        pieces = pieces_of(data)
        if len(encrypted) >= _CONNECTIONS_MIN and len(data) >= _BYTES_MIN:
            rest = self._sent_together(encrypted, pieces)
        else:
            rest = [unsent for one in encrypted if (unsent := one.try_send(pieces)) is not None]
        for unsent in rest:
            unsent.transport.queue(unsent)
        if len(encrypted) == len(transports):
            return bool(rest)
        for transport in transports:
            if not isinstance(transport, TlsTransport) and not transport.is_closing():
                transport.write(data)
        return True

    def _sent_together(
        self, transports: Sequence[TlsTransport], pieces: Sequence[Buffer]
    ) -> Sequence[Unsent]:
        round_ = _Round(transports, pieces)
        while len(self._threads) < self._count:
            thread = threading.Thread(target=self._help, name="sender", daemon=True)
            self._threads.append(thread)
            thread.start()
        for _ in self._threads:
            self._rounds.put(round_)
        round_.lead()
        return round_.unsent

    def close(self) -> None:
        for _ in self._threads:
            self._rounds.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _help(self) -> None:
        while (round_ := self._rounds.get()) is not None:
            round_.help()

    def __repr__(self) -> str:
        return f"<Senders: {len(self._threads)} of {self._count} threads>"


class _Round:
    """A free thread takes the next connection; it is over when none is left and no thread sends."""

    def __init__(self, transports: Sequence[TlsTransport], pieces: Sequence[Buffer]) -> None:
        self.unsent: list[Unsent] = []
        self._pieces = pieces
        self._left: Iterator[TlsTransport] = iter(transports)
        self._lock = threading.Lock()
        self._helping = 0
        self._is_over = False
        self._last_left = threading.Semaphore(0)

    def lead(self) -> None:
        try:
            self._send()
        finally:
            with self._lock:
                self._is_over = True
                is_alone = not self._helping
            if not is_alone:
                self._last_left.acquire()  # no deadline: a send never waits

    def help(self) -> None:
        """A thread that comes too late has nothing to do, and is not waited for."""
        with self._lock:
            if self._is_over:
                return
            self._helping += 1
        try:
            self._send()
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._helping -= 1
            is_awaited = self._is_over and not self._helping
        if is_awaited:
            self._last_left.release()

    def _send(self) -> None:
        for transport in self._left:
            unsent = transport.try_send(self._pieces)
            if unsent is not None:
                self.unsent.append(unsent)
