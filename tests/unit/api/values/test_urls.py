"""What is no URL, in the words of Go."""

from __future__ import annotations

import pytest

from proreus.api.values.urls import url_fault


@pytest.mark.parametrize(
    "url",
    ["", "a", "a/b:c", "mailto:x", "https://a:80/b?c=%zz#d", "//a", "///a:b", "https://[::1]:80/",
     "https://a%20b.c@d/", "https://[fe80::1%25eth0]/", "https://ä.de/", "1a/b", "https://a:"],
)  # fmt: skip
def test_these_are_urls(url: str) -> None:
    assert not url_fault(url)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        (":a", "missing protocol scheme"),
        ("1a:b", "first path segment in URL cannot contain colon"),
        ("a b:c/d", "first path segment in URL cannot contain colon"),
        ("https://a b/", 'invalid character " " in host name'),
        ("https://a:b/", 'invalid port ":b" after host'),
        ("https://[::1]b/", 'invalid port "b" after host'),
        ("https://[::1/", "missing ']' in host"),
        ("https://[x]/", 'invalid host: ParseAddr("x"): unable to parse IP'),
        ("https://[1.1.1.1]/", "invalid IP-literal"),
        ("https://a b@c/", "net/url: invalid userinfo"),
        ("https://a/%zz", 'invalid URL escape "%zz"'),
        ("https://%4", 'invalid URL escape "%4"'),
        ("a%", 'invalid URL escape "%"'),
        ("https://a\x7f", "net/url: invalid control character in URL"),
    ],
)
def test_these_are_none(url: str, why: str) -> None:
    shown = url.replace("\x7f", "\\x7f")

    assert url_fault(url) == f'parse "{shown}": {why}'


def test_a_fault_of_the_fragment_shows_the_whole_text() -> None:
    assert url_fault("a#%x") == 'parse "a#%x": invalid URL escape "%x"'
    assert url_fault("%x#b") == 'parse "%x": invalid URL escape "%x"'
