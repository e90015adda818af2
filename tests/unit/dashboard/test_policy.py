"""Which requests a browser may make with a session's cookie."""

from __future__ import annotations

import pytest

from proreus.api.status import BadRequest, Forbidden
from proreus.dashboard.policy import (
    PAGE_CSP,
    check_origin,
    check_request,
    check_target,
    cookie_of,
    new_cookie,
)
from proreus.dashboard.sessions import Session, Visitor

SESSION = Session(Visitor("ann", (), "t"), "right", 0.0, 0.0)
OURS = {"Host": "server:6443", "Origin": "https://server:6443"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "server:6443"},
        {"Host": "server:6443", "Origin": "null"},
        {"Host": "server:6443", "Origin": "https://evil.example"},
        {"Host": "server:6443", "Origin": "http://server:6443"},
        {"Host": "server:6443", "Origin": "https://server"},
        {"Host": "server:6443", "Origin": "https://server:6443.evil.example"},
        {"Origin": "https://"},
    ],
)
def test_only_our_own_page_is_our_origin(headers: dict[str, str]) -> None:
    with pytest.raises(Forbidden):
        check_origin(headers, "https")


def test_our_origin_is_the_address_asked_in_any_case() -> None:
    check_origin({"Host": "Server:6443", "Origin": "https://server:6443"}, "https")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "ANYTHING"])
def test_a_write_needs_our_origin_and_the_sessions_token(method: str) -> None:
    check_request(method, {**OURS, "X-CSRF-Token": "right"}, SESSION, "https", upgrades=False)
    for headers in (OURS, {**OURS, "X-CSRF-Token": "wrong"}, {"X-CSRF-Token": "right"}):
        with pytest.raises(Forbidden):
            check_request(method, headers, SESSION, "https", upgrades=False)


def test_a_read_needs_neither() -> None:
    check_request("GET", {"Host": "server:6443"}, SESSION, "https", upgrades=False)


def test_a_websocket_needs_our_origin() -> None:
    check_request("GET", OURS, SESSION, "https", upgrades=True)
    with pytest.raises(Forbidden):
        check_request("GET", {"Host": "server:6443"}, SESSION, "https", upgrades=True)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_a_read_that_another_site_makes_the_browser_do_is_refused(site: str) -> None:
    headers = {"Host": "server:6443", "Sec-Fetch-Site": site}
    with pytest.raises(Forbidden):
        check_request("GET", headers, SESSION, "https", upgrades=False)


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/a/pods/b/proxy",
        "/api/v1/namespaces/a/pods/b/proxy/index.html",
        "/api/v1/namespaces/a/services/b/pr%6fxy/x.js",
        "/api/v1/nodes/n/proxy/logs",
        "/api/v1/proxy/namespaces/a/pods/b",
        "/dashboard/login",
        "/%64ashboard/api/api",
    ],
)
def test_what_pods_serve_and_the_dashboard_itself_are_not_handed_through(path: str) -> None:
    with pytest.raises(Forbidden):
        check_target(path)


def test_resources_documents_and_debug_pages_are_handed_through() -> None:
    for path in (
        "/api/v1/pods", "/api/v1/namespaces/a/pods/proxy", "/apis", "/version",
        "/debug/listwatch/caches", "/api/v1/namespaces/a/pods/b/exec",
    ):  # fmt: skip
        check_target(path)
    with pytest.raises(BadRequest):
        check_target("/api/%zz")


def test_the_cookie_is_found_among_others_and_only_if_there_is_one() -> None:
    assert cookie_of({"Cookie": "a=b; proreus_session=x; c=d"}) == "x"
    assert cookie_of({"Cookie": "proreus_session=x; proreus_session=y"}) == ""
    assert cookie_of({"Cookie": "xproreus_session=x"}) == ""
    assert cookie_of({}) == ""


def test_scripts_cannot_read_the_cookie_and_other_sites_cannot_send_it() -> None:
    _, value = new_cookie("x")

    options = set(value.split("; ")[1:])
    assert options == {"HttpOnly", "Secure", "SameSite=Strict", "Path=/dashboard/"}


def test_the_page_may_run_nothing_but_its_own_files() -> None:
    rules = dict(rule.split(" ", 1) for rule in PAGE_CSP.split("; "))

    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert "unsafe" not in PAGE_CSP
