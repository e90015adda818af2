"""A store as an ASGI application: HTTP, Server-Sent Events and WebSocket of one handler.

    app = FastAPI(lifespan=…)                    # opens the store
    app.mount("/store", store.asgi(authenticate=signed_in))

Requests go by ``net.client.in_process`` to the same handlers as a server's; here is only the
translation. Paths are Kubernetes' (``/apis/GROUP/VERSION/PLURAL/NAME``), below the
mount. A WebSocket carries a watch: one message per event. Run alone, as ``uvicorn module:app``, the
application opens the store itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from proreus.api.status import Forbidden
from proreus.api.wire import json
from proreus.embedded.access import Authenticate, Authorize, Caller, Origins
from proreus.embedded.handling import refused, requests_of
from proreus.net.client.in_process import InProcessHttp
from proreus.net.client.transport import AnswerStream
from proreus.net.client.transport_error import ConnectionLost
from proreus.server.http.body import BODY_BYTES_MAX

if TYPE_CHECKING:
    from proreus.embedded.store import Store

Message = MutableMapping[str, Any]  # as ASGI has it
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
_SAFE_IN_PATHS = "/:@!$&'()*+,;=~"
_OF_CONNECTIONS = ("connection", "date", "content-length", "transfer-encoding")  # the server's own
_CLOSED_FOR_STATUS = 4000  # codes from here on are an application's own
_TRY_AGAIN = 1012  # a watch has a longest time; the browser's side begins anew
_REASON_MAX = 120  # bytes that fit into a closing message


class AsgiApplication:
    """``store`` is open while requests come."""

    def __init__(
        self,
        store: Store,
        authenticate: Authenticate,
        authorize: Authorize | None,
        allow_origins: tuple[str, ...],
    ) -> None:
        self._store = store
        self._authenticate = authenticate
        self._authorize = authorize
        self._origins = Origins(allow_origins)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "websocket":
                await self._websocket(scope, receive, send)
            case "lifespan":
                await self._lifespan(receive, send)
            case other:
                raise ValueError(f"ASGI's {other} is not served")

    @asynccontextmanager
    async def _asked(self, caller: Caller, body: bytes | None) -> AsyncIterator[AnswerStream]:
        engine, scope = self._store.engine, caller.scope
        if self._origins.refuses(caller):
            why = f"pages of {caller.headers.get('origin', '')} may not ask; see allow_origins"
            handler = refused(engine, Forbidden(why))
        else:
            user = await self._authenticate(caller)
            handler = requests_of(engine, user, self._authorize)
        http = InProcessHttp(engine.http, handler=handler)
        async with http.stream(caller.method, _url(scope), _headers(scope), body) as answer:
            yield answer

    # ---- HTTP

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        caller = Caller(scope)
        if self._origins.is_preflight(caller):
            await _start(send, 204, self._origins.preflight(caller))
            await send({"type": "http.response.body", "body": b""})
            return
        body = await _body(receive)
        if body is None:
            return
        async with self._asked(caller, body or None) as answer:
            said = [pair for pair in answer.headers.pairs() if pair[0] not in _OF_CONNECTIONS]
            await _start(send, answer.status, [*said, *self._origins.headers(caller)])
            await _either(_pump(answer, send), _left(receive, "http.disconnect"))

    # ---- WebSocket

    async def _websocket(self, scope: Message, receive: Receive, send: Send) -> None:
        await receive()  # that it wants to connect
        async with self._asked(Caller(scope), None) as answer:
            offered = scope.get("subprotocols") or [None]
            await send({"type": "websocket.accept", "subprotocol": offered[0]})
            if answer.status != 200:
                reason = _reason(await answer.read())
                code = _CLOSED_FOR_STATUS + answer.status
                await send({"type": "websocket.close", "code": code, "reason": reason})
                return
            if await _either(_messages(answer, send), _left(receive, "websocket.disconnect")):
                await send({"type": "websocket.close", "code": _TRY_AGAIN})

    # ---- Lifespan

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        """A store that is open already is its opener's to close."""
        await receive()  # that it is to start
        async with AsyncExitStack() as opened:
            try:
                if not self._store.is_open:
                    await opened.enter_async_context(self._store)
            except Exception as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()  # that it is to end
        await send({"type": "lifespan.shutdown.complete"})


def _url(scope: Mapping[str, Any]) -> str:
    query = scope.get("query_string", b"").decode("latin-1")
    return f"http://store.localhost{_path(scope)}{f'?{query}' if query else ''}"


def _headers(scope: Mapping[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        if name not in (b"connection", b"upgrade", b"expect", b"content-length"):
            found.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
    return found


def _path(scope: Mapping[str, Any]) -> str:
    """Below the mount, escaped as it was sent if the server says how that was."""
    raw, root = scope.get("raw_path"), quote(scope.get("root_path", ""), safe=_SAFE_IN_PATHS)
    path = raw.decode("latin-1").partition("?")[0] if raw else ""
    path = path or quote(scope["path"], safe=_SAFE_IN_PATHS)
    if root and (path == root or path.startswith(f"{root.rstrip('/')}/")):
        path = path[len(root.rstrip("/")) :]
    return path or "/"


async def _body(receive: Receive) -> bytes | None:
    """None: the client has left. One byte more than is allowed is enough to be refused."""
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        piece = message.get("body", b"")
        size += len(piece)
        pieces.append(piece)
        if not message.get("more_body") or size > BODY_BYTES_MAX:
            return b"".join(pieces)


async def _start(send: Send, status: int, headers: list[tuple[str, str]]) -> None:
    encoded = [
        (name.lower().encode("latin-1"), value.encode("latin-1", "replace"))
        for name, value in headers
    ]
    await send({"type": "http.response.start", "status": status, "headers": encoded})


async def _pump(answer: AnswerStream, send: Send) -> None:
    async for piece in _until_broken(answer):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _until_broken(answer: AnswerStream) -> AsyncIterator[bytes]:
    """A watcher that falls behind is broken off; it resumes from what it saw last."""
    with suppress(ConnectionLost):
        while piece := await answer.next_chunk():
            yield piece


async def _messages(answer: AnswerStream, send: Send) -> None:
    """A frame is a line."""
    rest = b""
    async for piece in _until_broken(answer):
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            await send({"type": "websocket.send", "text": line.decode()})


async def _left(receive: Receive, kind: str) -> None:
    while (await receive())["type"] != kind:
        pass


async def _either(work: Coroutine[Any, Any, None], leaving: Coroutine[Any, Any, None]) -> bool:
    """Whether the work came to its end before the client left; the other of both is cancelled."""
    async with asyncio.TaskGroup() as both:
        working, left = both.create_task(work), both.create_task(leaving)
        await asyncio.wait((working, left), return_when=asyncio.FIRST_COMPLETED)
        is_done = working.done()
        working.cancel()
        left.cancel()
    return is_done


def _reason(body: bytes) -> str:
    try:
        said = str(json.decode(body)["message"])
    except (ValueError, KeyError, TypeError):
        said = body.decode(errors="replace")
    return said.encode()[:_REASON_MAX].decode(errors="ignore")
