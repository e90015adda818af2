"""Where the dashboard's requests arrive: which part answers each, and every failure as a Status.

``handle`` is what a server mounts at ``/dashboard``; ``run`` ends sessions whose time is over.
"""

from __future__ import annotations

from collections.abc import Mapping

from proreus.aio.clock import Clock
from proreus.aio.current_tasks import CurrentTasks
from proreus.api.status import (
    ApiError,
    BadRequest,
    MethodNotAllowed,
    NotFound,
    TooLarge,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
)
from proreus.api.wire import json
from proreus.api.wire.query import first, parse_query
from proreus.client import ClientConfig
from proreus.dashboard.forwarding import ApiServerLink
from proreus.dashboard.login_codes import LoginCodes
from proreus.dashboard.page_files import PageFiles
from proreus.dashboard.policy import (
    DATA_HEADERS,
    PAGE_HEADERS,
    check_origin,
    check_request,
    check_target,
    cookie_of,
    new_cookie,
    no_cookie,
)
from proreus.dashboard.sessions import Session, Sessions, Visitor
from proreus.net.client.proxying import wants_upgrade
from proreus.net.http1.messages import Answer, BodyTooLarge, BodyUnreadable, Request, Response

PREFIX = "/dashboard"
LINKS_PATH = f"{PREFIX}/login-links"
_API = f"{PREFIX}/api/"
_LOGIN_BYTES_MAX = 64 * 1024
_LOGINS_MAX = 20  # that the API server is asked about at once
_LOOK_S = 30.0
_JSON = ("Content-Type", "application/json")
_HTML = ("Content-Type", "text/html; charset=utf-8")
_LINK_USED = b"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>proreus: this link is used up</title>
<h1>This link is used up</h1>
<p>A link logs in once, within ten minutes of being printed.
<code>proreus dashboard</code> prints another one, or
<a href="/dashboard/">log in with a token</a>.</p>
</html>
"""


class Dashboard:
    """Inside the life of the API server that ``config`` names. Credentials in ``config`` are not
    used: everybody acts with their own."""

    def __init__(self, config: ClientConfig, clock: Clock, page: PageFiles | None = None) -> None:
        self._api = ApiServerLink(config, clock)
        self._clock = clock
        self._page = page or PageFiles()
        self._sessions = Sessions()
        self._codes = LoginCodes()
        self._logins = CurrentTasks()

    async def run(self) -> None:
        """Ends sessions whose time is over: nobody may ask again with the cookie of one that still
        has a watch open. At the end all of them end."""
        try:
            while True:
                await self._clock.sleep(_LOOK_S)
                self._sessions.end_over(self._clock.monotonic())
        finally:
            self._sessions.end_all()
            await self._api.close()

    async def login_path(self, token: str) -> str:
        """Path and query of a link that logs in once as the token's owner. Raises Unauthorized,
        ServiceUnavailable."""
        visitor = await self._recognized(token)
        return f"{PREFIX}/login?code={self._codes.make(visitor, self._clock.monotonic())}"

    async def handle(self, request: Request) -> Answer:
        """The handler that is mounted."""
        try:
            return await self._answer(request)
        except ApiError as error:
            return _json(int(error.status["code"]), error.status)

    async def _answer(self, request: Request) -> Answer:
        path = request.raw_path_only
        if path.startswith(_API):
            return await self._forward(request, path[len(_API) - 1 :])
        match path.removeprefix(PREFIX):
            case "":
                return Response(308, (*PAGE_HEADERS, ("Location", f"{PREFIX}/")))
            case "/login":
                return await self._log_in(request)
            case "/logout":
                return self._log_out(request)
            case "/session":
                return self._show_session(request)
            case "/login-links":
                return await self._make_link(request)
            case below:
                return self._show_page(request, below.removeprefix("/"))

    async def _forward(self, request: Request, path: str) -> Answer:
        cookie, session = self._session(request.headers)
        upgrades = wants_upgrade(request)
        check_request(request.method, request.headers, session, self._api.scheme, upgrades=upgrades)
        check_target(path)
        query = f"?{request.raw_query}" if request.raw_query else ""
        answer = await self._api.forward(session, request, path + query, upgrades=upgrades)
        if answer.status == 401:
            self._sessions.end(cookie)  # its token is good no longer
        return answer

    async def _log_in(self, request: Request) -> Answer:
        if request.method == "GET":
            return self._log_in_by_link(request)
        _allow(request, "POST")
        check_origin(request.headers, self._api.scheme)
        token = await _read_token(request)
        visitor = await self._recognized(token)
        return Response(204, (*DATA_HEADERS, self._begin(request, visitor)))

    async def _recognized(self, token: str) -> Visitor:
        """Raises Unauthorized, ServiceUnavailable, TooManyRequests."""
        if len(self._logins) >= _LOGINS_MAX:
            raise TooManyRequests.of("too many logins are under way", 1)
        with self._logins.counted():
            return await self._api.log_in(token)

    def _log_in_by_link(self, request: Request) -> Answer:
        code = first(parse_query(request.raw_query), "code")
        visitor = self._codes.use(code, self._clock.monotonic())
        if visitor is None:
            return Response(401, (*PAGE_HEADERS, ("Cache-Control", "no-store"), _HTML), _LINK_USED)
        where = ("Location", f"{PREFIX}/")
        return Response(303, (*DATA_HEADERS, where, self._begin(request, visitor)))

    async def _make_link(self, request: Request) -> Answer:
        """For programs, which show their token; no cookie counts, so that no page can ask."""
        _allow(request, "POST")
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthorized("a link is made for who shows a token: Authorization: Bearer …")
        path = await self.login_path(_checked_token(token))
        return _json(201, {"path": path})

    def _begin(self, request: Request, visitor: Visitor) -> tuple[str, str]:
        """A new session; the one that the browser had ends."""
        if old := cookie_of(request.headers):
            self._sessions.end(old)
        return new_cookie(self._sessions.begin(visitor, self._clock.monotonic()))

    def _log_out(self, request: Request) -> Answer:
        _allow(request, "POST")
        cookie, session = self._session(request.headers)
        check_request("POST", request.headers, session, self._api.scheme, upgrades=False)
        self._sessions.end(cookie)
        return Response(204, (*DATA_HEADERS, no_cookie()))

    def _show_session(self, request: Request) -> Answer:
        _allow(request, "GET")
        _, session = self._session(request.headers)
        check_request("GET", request.headers, session, self._api.scheme, upgrades=False)
        visitor = session.visitor
        shown = {
            "username": visitor.username,
            "groups": list(visitor.groups),
            "csrfToken": session.csrf_token,
        }
        return _json(200, shown)

    def _show_page(self, request: Request, name: str) -> Answer:
        found = self._page.find(name)
        if found is None:
            raise NotFound.path()
        _allow(request, "GET", "HEAD")
        return found.answer(request.headers.get("If-None-Match", ""))

    def _session(self, headers: Mapping[str, str]) -> tuple[str, Session]:
        """The cookie and its session. Raises Unauthorized."""
        cookie = cookie_of(headers)
        found = self._sessions.find(cookie, self._clock.monotonic()) if cookie else None
        if found is None:
            raise Unauthorized("there is no session, or it has ended: log in")
        return cookie, found

    def __repr__(self) -> str:
        return f"<Dashboard of {self._api!r}, {len(self._sessions)} sessions>"


async def _read_token(request: Request) -> str:
    """Raises BadRequest, UnsupportedMediaType, TooLarge, Unauthorized."""
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise UnsupportedMediaType("a login is JSON: Content-Type must be application/json")
    try:
        body = json.decode(await request.read_body(_LOGIN_BYTES_MAX))
    except BodyTooLarge as error:
        raise TooLarge(f"Request entity too large: limit is {_LOGIN_BYTES_MAX}") from error
    except (BodyUnreadable, json.JSONDecodeError) as error:
        raise BadRequest("the body of the request is no JSON") from error
    token = body.get("token") if isinstance(body, dict) else None
    if not isinstance(token, str):
        raise BadRequest('a login is {"token": "…"}')
    return _checked_token(token)


def _checked_token(token: str) -> str:
    """Raises Unauthorized for what can be none, and no header."""
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise Unauthorized.default()
    return token


def _allow(request: Request, *methods: str) -> None:
    if request.method not in methods:
        raise MethodNotAllowed.default()


def _json(status: int, document: object) -> Response:
    return Response(status, (*DATA_HEADERS, _JSON), json.encode(document) + b"\n")
