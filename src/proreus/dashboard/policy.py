"""Which requests a browser may make with a session's cookie, and what it may do with answers. Pure.

A browser sends the cookie along with whatever any page makes it ask for. Three things stand
against that, each enough by itself: the cookie is for requests of our own pages alone
(``SameSite=Strict``), writes carry a token that only our page can read, and the page that asks, as
the browser names it (``Origin``, ``Sec-Fetch-Site``), must be our own.
"""

from __future__ import annotations

from collections.abc import Mapping

from proreus.api.status import BadRequest, Forbidden
from proreus.api.wire.path import ApiPath, BadPathEscape, OtherPath, split, unescape
from proreus.dashboard.sessions import Session

COOKIE = "proreus_session"
CSRF_HEADER = "X-CSRF-Token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_COOKIE_OPTIONS = "HttpOnly; Secure; SameSite=Strict; Path=/dashboard/"

# The page: its own modules and styles, nothing inline and nothing from elsewhere.
PAGE_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# What the API answers is data; opened as a page it can do nothing, whatever is in it.
DATA_CSP = "default-src 'none'; frame-ancestors 'none'; sandbox"
_ALWAYS = (
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
PAGE_HEADERS = (("Content-Security-Policy", PAGE_CSP), *_ALWAYS)
DATA_HEADERS = (
    ("Content-Security-Policy", DATA_CSP), ("Cache-Control", "no-store"), *_ALWAYS,
)  # fmt: skip


def check_origin(headers: Mapping[str, str], scheme: str) -> None:
    """The page that asks is ours: its origin is the address that it asks. Raises Forbidden."""
    host = headers.get("Host", "")
    if not host or headers.get("Origin", "").lower() != f"{scheme}://{host}".lower():
        raise Forbidden("the request does not come from the dashboard's own page (Origin)")


def check_request(
    method: str, headers: Mapping[str, str], session: Session, scheme: str, *, upgrades: bool
) -> None:
    """Whether a request may be made with the session. Raises Forbidden."""
    # Browsers that do not say so are held by the cookie's SameSite.
    if headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        raise Forbidden("the request does not come from the dashboard's own page (Sec-Fetch-Site)")
    is_safe = method in SAFE_METHODS
    if upgrades or not is_safe:
        check_origin(headers, scheme)
    # A WebSocket's handshake cannot have a header of the page's: for it, the origin decides.
    if not is_safe and not session.accepts(headers.get(CSRF_HEADER, "")):
        raise Forbidden(f"the header {CSRF_HEADER} is missing or not this session's")


def check_target(raw_path: str) -> None:
    """Whether the dashboard hands a path of the API server through. Raises Forbidden, BadRequest.

    What pods and services serve by themselves would be pages of our own origin.
    """
    try:
        path = unescape(raw_path)
    except BadPathEscape as error:
        raise BadRequest("the path cannot be read") from error
    match split(path):
        case ApiPath(subresource="proxy") | ApiPath(resource="proxy"):
            raise Forbidden("the dashboard does not proxy what pods and services serve")
        case OtherPath(("dashboard", *_)):
            raise Forbidden("the dashboard does not hand requests to itself")
        case _:
            pass


def cookie_of(headers: Mapping[str, str]) -> str:
    """The session's, "" without one. Of several with the name none counts: one was smuggled in."""
    pairs = (pair.strip().partition("=") for pair in headers.get("Cookie", "").split(";"))
    found = [value for name, _, value in pairs if name == COOKIE]
    return found[0] if len(found) == 1 else ""


def new_cookie(value: str) -> tuple[str, str]:
    return ("Set-Cookie", f"{COOKIE}={value}; {_COOKIE_OPTIONS}")


def no_cookie() -> tuple[str, str]:
    return ("Set-Cookie", f"{COOKIE}=; Max-Age=0; {_COOKIE_OPTIONS}")
