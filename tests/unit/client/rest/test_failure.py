"""Answers that are no success, and what they become."""

from __future__ import annotations

import pytest

from proreus.api import status
from proreus.api.status import ApiError
from proreus.client.rest.failure import failure, raise_hidden_failure, status_in
from proreus.net.client.http_client import Headers

PLAIN = Headers([("Content-Type", "text/plain")])


def of(code: int, body: bytes = b"", method: str = "GET", headers: Headers = PLAIN) -> ApiError:
    return failure(method, "http://s/x", code, headers, body)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, status.BadRequest),
        (401, status.Unauthorized),
        (403, status.Forbidden),
        (404, status.NotFound),
        (405, status.MethodNotAllowed),
        (406, status.NotAcceptable),
        (409, status.Conflict),
        (410, status.Expired),
        (415, status.UnsupportedMediaType),
        (422, status.Invalid),
        (429, status.TooManyRequests),
        (500, status.InternalError),
        (503, status.ServiceUnavailable),
        (504, status.Timeout),
    ],
)
def test_a_bare_code_becomes_its_exception(code: int, kind: type[ApiError]) -> None:
    found = of(code)

    assert type(found) is kind
    assert found.status["code"] == code
    assert found.causes == [{"reason": "UnexpectedServerResponse", "message": "unknown"}]


def test_409_is_already_exists_for_a_post_and_a_conflict_for_a_put() -> None:
    assert type(of(409, method="POST")) is status.AlreadyExists
    assert type(of(409, method="PUT")) is status.Conflict


def test_410_counts_as_expired_although_it_has_no_reason() -> None:
    found = of(410)

    assert isinstance(found, status.Expired)
    assert "reason" not in found.status


def test_the_servers_own_status_counts() -> None:
    body = (
        b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"gone",'
        b'"reason":"Expired","code":410}'
    )

    assert type(of(500, body)) is status.Expired
    assert str(of(500, body)) == "gone"


def test_text_of_a_proxy_is_quoted_up_to_a_limit_and_other_types_are_not() -> None:
    assert "bad gateway" in str(of(502, b"bad gateway"))
    assert len(str(of(502, b"x" * 100_000))) < 3000
    assert "secret" not in str(of(502, b"secret", headers=Headers([("Content-Type", "image/x")])))
    assert "no type" in str(of(502, b"no type", headers=Headers([])))


def test_retry_after_reaches_the_exception() -> None:
    headers = Headers([("Retry-After", "7")])

    assert of(429, headers=headers).retry_after_s == 7


def test_a_failure_inside_a_success_is_raised() -> None:
    with pytest.raises(status.NotFound):
        raise_hidden_failure(b'{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}')
    raise_hidden_failure(b'{"kind":"Status","apiVersion":"v1","status":"Success"}')
    raise_hidden_failure(b'{"kind":"Pod"}')
    raise_hidden_failure(b'{"kind":"Status"')


def test_only_a_status_of_v1_is_one() -> None:
    assert status_in(b'{"kind":"Status","apiVersion":"x/v1"}') is None
    assert status_in(b'["Status"]') is None
