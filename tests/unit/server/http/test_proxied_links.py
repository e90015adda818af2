"""Links of pages behind ``…/proxy/…``, and redirects there."""

from __future__ import annotations

import pytest

from proreus.server.http.proxied_links import ProxiedLinks

PROXY = "/api/v1/namespaces/default/pods/web:80/proxy"
LINKS = ProxiedLinks(PROXY, "web:80", "localhost:6443")


@pytest.mark.parametrize(
    ("said", "leads_to"),
    [
        ("/", f"{PROXY}/"),
        ("/a/b?x=1#y", f"{PROXY}/a/b?x=1#y"),
        ("/a/", f"{PROXY}/a/"),
        ("/a//b/./c", f"{PROXY}/a/b/c"),
        ("http://web:80/a", f"{PROXY}/a"),
        ("https://localhost:6443/a", f"https://localhost:6443{PROXY}/a"),
        (f"{PROXY}/a", f"{PROXY}/a"),
        ("http://elsewhere/a", "http://elsewhere/a"),
        ("//elsewhere/a", "//elsewhere/a"),
        ("a/b", "a/b"),
        ("", ""),
        ("#here", "#here"),
        ("mailto:a@b", "mailto:a@b"),
        ("http://[", "http://["),
    ],
)
def test_a_path_from_the_root_leads_back_through_the_proxy(said: str, leads_to: str) -> None:
    assert LINKS.url(said) == leads_to


@pytest.mark.parametrize(
    ("said", "is_set"),
    [
        ("a=1", f"a=1; Path={PROXY}/"),
        ("a=1; Path=/dashboard/; HttpOnly", f"a=1; HttpOnly; Path={PROXY}/"),
        ("a=1;PATH = /;domain=.example.com", f"a=1; Path={PROXY}/"),
        ("", f"; Path={PROXY}/"),
    ],
)
def test_a_cookie_is_for_what_is_behind_the_proxy_alone(said: str, is_set: str) -> None:
    assert LINKS.cookie(said) == is_set


@pytest.mark.parametrize(
    ("page", "becomes"),
    [
        ('<a href="/x">test</a>', f'<a href="{PROXY}/x">test</a>'),
        ("<A class=big HREF='/x' id=1>", f'<A class=big HREF="{PROXY}/x" id=1>'),
        ("<img src=/x usemap = '/y'/>", f'<img src="{PROXY}/x" usemap="{PROXY}/y"/>'),
        ('<a href="/x?a=1&amp;b=2">', f'<a href="{PROXY}/x?a=1&amp;b=2">'),
        ('<script src="/x">"<a href=/y>"</script><a href=/z>',
         f'<script src="{PROXY}/x">"<a href=/y>"</script><a href="{PROXY}/z">'),
        ('<a title="/x" href="x">/x</a>', '<a title="/x" href="x">/x</a>'),
        ('<!-- <a href="/x"> --><p href="/x">', '<!-- <a href="/x"> --><p href="/x">'),
        ('<a title=">" href="/x">', f'<a title=">" href="{PROXY}/x">'),
        ('<a href="/x"><a href="/y', f'<a href="{PROXY}/x"><a href="/y'),
        ("1 < 2 </p ><title><a href=/x>", "1 < 2 </p ><title><a href=/x>"),
    ],
)  # fmt: skip
def test_links_of_a_page_are_changed_and_nothing_else(page: str, becomes: str) -> None:
    assert LINKS.page(page.encode()) == becomes.encode()


def test_a_page_that_is_no_text_keeps_its_bytes() -> None:
    assert LINKS.page(b"\xff\xfe<p>\x80") == b"\xff\xfe<p>\x80"


@pytest.mark.parametrize("piece", ["<a ", '<a "', "<!--", "<script>", "<a b", "a=", "</"])
def test_a_page_of_unended_pieces_is_left_as_it_is(piece: str) -> None:
    """In linear time: a page of a mebibyte would take hours otherwise."""
    page = (piece * ((1 << 20) // len(piece))).encode()

    assert LINKS.page(page) == page
