"""What goes wrong with the requests and watches of a program in another process, at the server.

The same as ``perturbed_transport`` and ``perturbed_watch`` do between client and server, by the
hooks of a test's server: it is known who asks by the user of the program's kubeconfig.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from proreus.api.json_types import JsonObject
from proreus.api.status import Expired, InternalError
from proreus.api.wire import json
from proreus.api.wire.framing import ADDED, BOOKMARK, DELETED, MODIFIED
from proreus.net.http1.messages import Answer, Response
from proreus.testing.delivery import Delivery, SentEvent
from proreus.testing.explore.faults import (
    Crash,
    Delay,
    Fail,
    Hide,
    LeaderChange,
    Repeat,
    Stale,
    WriteFailure,
)
from proreus.testing.explore.normalization import TOUCHED
from proreus.testing.explore.planning import SIDE_ISSUES
from proreus.testing.explore.points import AskedFor, WritePoint, asked
from proreus.testing.explore.process_program import PROGRAM, ProcessUnderTest
from proreus.testing.explore.trace import Listed, Saw, Wrote
from proreus.testing.interception import BreakConnection, Proceed
from proreus.testing.requests import RecordedRequest
from proreus.testing.server import RunningServer

_END = "k8s.io/initial-events-end"
_OBJECT_EVENTS = (ADDED, MODIFIED, DELETED)


class PerturbedServer:
    """The hooks of one run."""

    def __init__(self, server: RunningServer, program: ProcessUnderTest) -> None:
        self._server = server
        self._program = program
        self._seam = program.seam
        self._hiding: dict[RecordedRequest, Hide] = {}  # by the watch that hides something
        self._expired: set[str] = set()  # what must be listed before it is watched again
        self._begun: set[RecordedRequest] = set()  # watches whose initial events were all sent

    @contextmanager
    def hooked(self) -> Iterator[None]:
        stops = (self._server.intercept(self._request), self._server.on_watch_event(self._event))
        try:
            yield
        finally:
            for stop in stops:
                stop()

    # Requests

    async def _request(self, request: RecordedRequest, proceed: Proceed) -> Answer:
        if request.user != PROGRAM:
            return await proceed()
        what = asked(f"{request.path}?{request.query}")
        self._program.has_asked(is_aside=what is not None and _is_aside(what))
        if what is None:
            return await proceed()
        if what.is_write(request.method):
            return await self._write(what, request, proceed)
        self._refuse_expired(what)
        answer = await proceed()
        if what.is_list and request.method == "GET":
            at_s = self._seam.clock.monotonic()
            stale = bool(request.as_of)
            self._seam.trace.add(Listed(at_s, PROGRAM, what.resource, is_stale=stale))
        return answer

    def _refuse_expired(self, what: AskedFor) -> None:
        """A watch that was ended with 410 is not resumed: some clients try, before they list."""
        path = str(what.path)
        if what.query.get("resourceVersion", "0") == "0" or not what.is_watch:
            self._expired.discard(path)
        elif path in self._expired:
            raise Expired("too old resource version")

    async def _write(self, what: AskedFor, request: RecordedRequest, proceed: Proceed) -> Answer:
        seam, program = self._seam, self._program.current
        write = seam.counted.write(request.method, what, bytes(request.body))
        fault = seam.at_write(write)
        if seam.is_exhausted:
            program.stop()
        match fault:
            case Crash(is_after=False):
                self._program.crash(program, None)
                raise BreakConnection
            case LeaderChange():
                # It was frozen before it sent all of it: it is not done, and fails when it goes on.
                self._program.change_leader(program)
                await program.wait_running()
                raise BreakConnection
            case Fail(failure=WriteFailure.ERROR):
                self._note(what, write, InternalError.code, b"", request)
                raise InternalError("an error on the server")
            case Fail(failure=WriteFailure.CONFLICT):
                await self._change_before(what)
            case _:
                pass
        await program.wait_running()
        answer = await proceed()
        body = answer.body if isinstance(answer, Response) else b""
        self._note(what, write, answer.status, body if isinstance(body, bytes) else b"", request)
        match fault:
            case Crash() | Stale():
                self._program.crash(program, fault if isinstance(fault, Stale) else None)
                raise BreakConnection
            case Fail(failure=WriteFailure.LOST):
                raise BreakConnection
            case _:
                return answer

    async def _change_before(self, what: AskedFor) -> None:
        """As another client would: so there is an event of it, as with every real conflict."""
        path = what.path
        async with self._server.client() as client:
            group = f".{path.version}.{path.group}" if path.group else ""
            resource = client.resource(f"{path.resource}{group}")
            api = resource(path.namespace) if path.namespace else resource
            now = str(self._server.clock.now())
            await api.patch(path.name, {"metadata": {"annotations": {TOUCHED: now}}})

    def _note(
        self, what: AskedFor, write: WritePoint, status: int, body: bytes, request: RecordedRequest
    ) -> None:
        seam = self._seam
        metadata = _metadata(body) if 200 <= status < 300 else {}
        if metadata.get("name"):
            seam.counted.note_name(what.resource.partition("/")[0], metadata)
        seam.trace.add(
            Wrote(
                seam.clock.monotonic(), PROGRAM, write, status,
                str(metadata.get("resourceVersion") or ""),
                is_guarded=b'"resourceVersion"' in request.body,
            )
        )  # fmt: skip

    # Events

    def _event(self, request: RecordedRequest, event: SentEvent) -> Delivery:
        what = asked(f"{request.path}?{request.query}")
        if request.user != PROGRAM or what is None or self._is_initial(request, what, event):
            return Delivery.PASS
        if event.type not in _OBJECT_EVENTS:
            return Delivery.PASS
        seam = self._seam
        point = seam.counted.event(event.type, what.resource, _metadata_of(event))
        if (hiding := self._hiding.get(request)) is not None:
            if point != hiding.newer:
                return Delivery.PASS  # it waits behind the hidden one
            del self._hiding[request]
            seam.holding.pop(hiding, None)
            self._expired.add(str(what.path))
            return Delivery.EXPIRE
        match fault := seam.at_event(point):
            case Delay():
                loop = asyncio.get_running_loop()
                loop.call_later(seam.lag_s, self._server.release_watches, {request})
                return Delivery.HOLD
            case Hide():
                self._hiding[request] = fault
                seam.holding[fault] = lambda: self._let_go(request)
                return Delivery.HOLD
            case Repeat():
                self._expired.add(str(what.path))
        at_s = seam.clock.monotonic()
        seam.trace.add(Saw(at_s, PROGRAM, point, event.resource_version, request.number))
        return Delivery.PASS if fault is None else Delivery.EXPIRE_AFTER

    def _let_go(self, request: RecordedRequest) -> None:
        self._hiding.pop(request, None)
        self._server.release_watches({request})

    def _is_initial(self, request: RecordedRequest, what: AskedFor, event: SentEvent) -> bool:
        """Whether it says what was there when the watch began."""
        if request in self._begun:
            return False
        if what.streams_list:
            annotations = _metadata_of(event).get("annotations") or {}
            if event.type == BOOKMARK and annotations.get(_END) == "true":
                self._begun.add(request)
            return True
        if what.query.get("resourceVersion", "") in ("", "0"):
            version = event.resource_version
            return version.isdecimal() and int(version) <= request.revision_before
        return False


def _is_aside(what: AskedFor) -> bool:
    return what.resource.partition("/")[0] in SIDE_ISSUES


def _metadata_of(event: SentEvent) -> JsonObject:
    """Of the object; of a table, which kubectl asks for, that of its row."""
    found = event.object
    if found.get("kind") == "Table" and found.get("rows"):
        found = found["rows"][0].get("object") or {}
    metadata = found.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _metadata(body: bytes) -> JsonObject:
    try:
        found = json.decode(body).get("metadata")
    except (json.JSONDecodeError, AttributeError):
        return {}  # another form than JSON
    return found if isinstance(found, dict) else {}
