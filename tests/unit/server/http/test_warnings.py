"""Warning headers (server.md §1.1)."""

from __future__ import annotations

from typing import cast

import pytest

from proreus.net.http1.messages import Request
from proreus.server.http.exchange import Exchange
from tests.unit.server.registry.server_under_test import Asked, asking

DEPRECATED = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'


def sent(*warnings: str) -> list[str]:
    exchange = Exchange(cast(Request, Asked("GET", "/version", {}, b"")))
    for text in warnings:
        exchange.warn(text)
    return [value for name, value in exchange.head() if name == "Warning"]


def test_a_warning_is_sent_once_and_quoted() -> None:
    assert sent('unknown field "a"', 'unknown field "a"') == [r'299 - "unknown field \"a\""']


def test_warnings_too_long_together_are_shortened_and_the_last_ones_dropped() -> None:
    long = [f"{number:04}" + "x" * 300 for number in range(5000)]

    texts = sent(*long)

    assert len(texts) == 16
    assert texts[0] == f'299 - "{long[0][:256]}"'


def test_a_warning_with_control_characters_is_not_sent() -> None:
    assert sent("a\nb", "c\x85", "", "d") == ['299 - "d"']


def test_a_warning_is_sent_as_the_bytes_of_its_utf_8() -> None:
    (text,) = sent("für 山")

    assert text.encode("latin-1").decode() == '299 - "für 山"'


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("GET", "endpoints", None, 200),
        ("GET", "endpoints/none", None, 404),
        ("POST", "endpoints", {"metadata": {"name": "A"}}, 422),
        ("DELETE", "endpoints", None, 200),
    ],
)
async def test_every_answer_about_endpoints_says_they_are_deprecated(
    method: str, path: str, body: dict[str, object] | None, code: int
) -> None:
    async with asking() as ask:
        answer = await ask(method, path, body)

    assert (answer.status, answer.headers["Warning"]) == (code, DEPRECATED)


async def test_only_who_may_not_ask_is_asked_not_to_guess_the_content_type() -> None:
    async with asking() as ask:
        refused = await ask("DELETE", "/api/v1/namespaces/default")

    assert refused.status == 403
    assert "X-Content-Type-Options" not in refused.headers
