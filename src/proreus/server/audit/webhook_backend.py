"""Events sent in batches to an HTTPS server, as an EventList.

One batch is under way at a time. One that fails is sent again a few times, then its events are
lost; so are those for which there is no room meanwhile. Losses are counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock, deadline
from proreus.net.client.transport_error import TransportError
from proreus.server.audit.event import PREFIX
from proreus.server.audit.gathering import Gathering
from proreus.server.webhooks.connections import WebhookConnections
from proreus.server.webhooks.kubeconfig import WebhookAddress

NAME = "webhook"
ATTEMPTS = 5
_BACKOFF_FACTOR, _JITTER = 1.5, 0.2
_BACKOFF_MAX_S = 600.0  # with the largest factor that is reached
_TIMEOUT_S = 30.0
_STOP_S = 5.0  # what is left is sent within this time when the server stops
_HEAD = b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":['
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, */*"}


class _Refused(Exception):
    """The webhook answered, but not that it has the events."""


class WebhookBackend:
    def __init__(
        self,
        gathering: Gathering,
        address: WebhookAddress,
        clock: Clock,
        initial_backoff_s: float = 10.0,
    ) -> None:
        self.gathering = gathering
        self.backlog = gathering.backlog
        self._address = address
        self._clock = clock
        self._initial_backoff_s = initial_backoff_s
        self._batch: list[bytes] = []  # under way
        self._connections = WebhookConnections(address.route)

    async def run(self) -> None:
        while True:
            await self.gathering.wait_batch()
            self._take()
            await self._deliver()

    async def close(self) -> None:
        """Send what is left, once ``run`` has ended."""
        await self._send_rest()
        await self._connections.close()

    def _take(self) -> None:
        self._batch = self.gathering.take()

    async def _deliver(self) -> None:
        """The batch, however often that must be tried; every failure is worth another attempt."""
        backoff = Backoff(
            self._clock,
            initial_s=self._initial_backoff_s,
            factor=_BACKOFF_FACTOR,
            cap_s=_BACKOFF_MAX_S,
            jitter=_JITTER,
        )
        why = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                await self._clock.sleep(backoff.next())
            try:
                await self._post()
            except (TransportError, TimeoutError, _Refused) as error:
                why = str(error) or "no answer in time"
            else:
                self.backlog.delivered()
                return
        self.backlog.lose(len(self._batch), why)
        self._batch = []

    async def _send_rest(self) -> None:
        """What the server's end found waiting: one attempt for all of it."""
        why = "the server stopped"
        try:
            async with deadline(self._clock, _STOP_S):
                if not self._batch:
                    self._take()
                while self._batch:
                    await self._post()
                    self._take()
        except (TransportError, TimeoutError, _Refused) as error:
            why = str(error) or why
        if lost := len(self._batch) + len(self.backlog):
            self.backlog.lose(lost, why)

    async def _post(self) -> None:
        """Send the batch and forget it. Raises TransportError, TimeoutError, _Refused."""
        headers = {**_HEADERS, **self._address.headers}
        async with deadline(self._clock, _TIMEOUT_S):
            url, body = self._address.url, event_list(self._batch)
            answer = await self._connections.post(url, headers, body)
        if not 200 <= answer.status <= 299:
            raise _Refused(f"the webhook answered {answer.status}")
        self._batch = []

    def __repr__(self) -> str:
        return f"<WebhookBackend {self._address.url}, {self.backlog!r}>"


def event_list(events: Sequence[bytes]) -> bytes:
    """Items of a list do not say what kind they are."""
    items = b",".join([b"{" + event[len(PREFIX) :] for event in events])
    return b"".join((_HEAD, items, b"]}"))
