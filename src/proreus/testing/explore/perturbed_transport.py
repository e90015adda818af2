"""The requests of a program under test on their way to the server, and what goes wrong with them.

client.rest → PerturbedTransport → the real transport
               ├─ seam.trace: what was written and listed
               └─ seam:       what goes wrong, once
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from urllib.parse import urlencode, urlsplit

from proreus.api.status import ApiError, InternalError, Invalid
from proreus.api.wire import json
from proreus.net.client.http_client import Headers, HttpResponse
from proreus.net.client.transport import AnswerStream, RequestHeaders, Transport
from proreus.net.client.transport_error import ConnectionLost
from proreus.net.client.websocket import ClientWebSocket
from proreus.testing.explore.faults import Crash, Fail, LeaderChange, Stale, WriteFailure
from proreus.testing.explore.normalization import TOUCHED
from proreus.testing.explore.perturbed_watch import PerturbedWatch
from proreus.testing.explore.points import AskedFor, WritePoint, asked
from proreus.testing.explore.seam import Incarnation, Seam
from proreus.testing.explore.trace import Listed, Wrote

_JSON = (("Content-Type", "application/json"),)


class PerturbedTransport:
    """Implements ``transport.Transport`` for one incarnation, over ``inner``."""

    def __init__(self, inner: Transport, seam: Seam, incarnation: Incarnation) -> None:
        self._inner = inner
        self._seam = seam
        self._incarnation = incarnation

    async def request(
        self, method: str, url: str, headers: RequestHeaders, body: bytes | None
    ) -> HttpResponse:
        await self._incarnation.wait_running()
        what = asked(url)
        if what is None or not what.is_write(method):
            return await self._read(what, method, url, headers, body)
        return await self._write(what, method, url, headers, body)

    async def _read(
        self,
        what: AskedFor | None,
        method: str,
        url: str,
        headers: RequestHeaders,
        body: bytes | None,
    ) -> HttpResponse:
        stale = self._stale_url(what, url) if what is not None else ""
        answer = await self._inner.request(method, stale or url, headers, body)
        if method == "GET" and what is not None and what.is_list:
            seam = self._seam
            at_s = seam.clock.monotonic()
            seam.trace.add(Listed(at_s, seam.who, what.resource, is_stale=bool(stale)))
        await self._incarnation.wait_running()
        return answer

    def _stale_url(self, what: AskedFor, url: str) -> str:
        """Of the list that a server gives which is behind; empty: of no such."""
        view = self._incarnation.view
        if view is None or view.caught_up.is_open or not what.takes_any_version:
            return ""
        exactly = {"resourceVersion": view.revision, "resourceVersionMatch": "Exact"}
        return f"{url.partition('?')[0]}?{urlencode({**what.query, **exactly})}"

    async def _write(
        self, what: AskedFor, method: str, url: str, headers: RequestHeaders, body: bytes | None
    ) -> HttpResponse:
        seam, me = self._seam, self._incarnation
        write = seam.counted.write(method, what, body)
        fault = seam.at_write(write)
        if seam.is_exhausted:
            me.stop()
        match fault:
            case Crash(is_after=False):
                seam.acts.crash(me, None)
            case LeaderChange():
                seam.acts.change_leader(me)
            case Fail(failure=WriteFailure.CONFLICT):
                await self._change_before(what, url, headers)
            case Fail(failure=WriteFailure.ERROR):
                return self._refused(write, body, InternalError("an error on the server"))
            case _:
                pass
        await me.wait_running()
        answer = await self._inner.request(method, url, headers, body)
        self._note(what, write, body, answer)
        match fault:
            case Crash():
                seam.acts.crash(me, None)
            case Stale():
                seam.acts.crash(me, fault)
            case Fail(failure=WriteFailure.LOST):
                raise ConnectionLost(url, "the connection broke before the answer")
            case _:
                pass
        await me.wait_running()
        return answer

    async def _change_before(self, what: AskedFor, url: str, headers: RequestHeaders) -> None:
        """As another client would: so there is an event of it, as with every real conflict."""
        target = what.path._replace(subresource="", rest=())
        touched = {"metadata": {"annotations": {TOUCHED: str(self._seam.clock.now())}}}
        parts = urlsplit(url)
        as_patch = {**headers, "Content-Type": "application/merge-patch+json"}
        place = f"{parts.scheme}://{parts.netloc}{target}"
        await self._inner.request("PATCH", place, as_patch, json.encode(touched))

    def _refused(self, write: WritePoint, body: bytes | None, error: ApiError) -> HttpResponse:
        seam = self._seam
        seam.trace.add(Wrote(seam.clock.monotonic(), seam.who, write, error.code))
        return HttpResponse(error.code, Headers(_JSON), json.encode(error.status))

    def _note(
        self, what: AskedFor, write: WritePoint, body: bytes | None, answer: HttpResponse
    ) -> None:
        seam = self._seam
        version = ""
        if 200 <= answer.status < 300:
            try:
                metadata = json.decode(answer.body).get("metadata") or {}
            except (json.JSONDecodeError, AttributeError):
                metadata = {}  # another form than JSON
            version = str(metadata.get("resourceVersion") or "")
            if metadata.get("name"):
                seam.counted.note_name(what.resource.partition("/")[0], metadata)
        seam.trace.add(
            Wrote(
                seam.clock.monotonic(), seam.who, write, answer.status, version,
                is_guarded=b'"resourceVersion"' in (body or b""),
            )
        )  # fmt: skip

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, headers: RequestHeaders, body: bytes | None
    ) -> AsyncIterator[AnswerStream]:
        await self._incarnation.wait_running()
        what, view = asked(url), self._incarnation.view
        if what is None or not what.is_watch:
            async with self._inner.stream(method, url, headers, body) as plain:
                yield plain
            return
        if view is not None and not view.caught_up.is_open:
            if what.streams_list:
                # As servers answer that cannot stream lists; then clients list at version 0.
                yield _Refusal(Invalid("sendInitialEvents is forbidden for watch"))
                return
            await view.caught_up.wait_open()
        async with self._inner.stream(method, url, headers, body) as opened:
            if opened.status != 200:
                yield opened
                return
            self._seam.streams += 1
            watch = PerturbedWatch(opened, what, self._seam, self._incarnation)
            try:
                yield watch
            finally:
                watch.close()

    def websocket(
        self,
        url: str,
        headers: RequestHeaders,
        protocols: Sequence[str],
        *,
        message_bytes_max: int,
    ) -> AbstractAsyncContextManager[ClientWebSocket]:
        return self._inner.websocket(url, headers, protocols, message_bytes_max=message_bytes_max)

    async def retire(self) -> None:
        await self._inner.retire()

    async def close(self) -> None:
        await self._inner.close()


class _Refusal:
    """A stream that was refused."""

    def __init__(self, error: ApiError) -> None:
        self.status = error.code
        self.headers = Headers(_JSON)
        self._body = json.encode(error.status)

    async def read(self, limit: int = 1 << 20) -> bytes:
        return await self.next_chunk()

    async def chunks(self) -> AsyncIterator[bytes]:
        yield await self.next_chunk()

    async def next_chunk(self) -> bytes:
        body, self._body = self._body, b""
        return body
