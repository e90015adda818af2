"""An answer that is not a success → the exception for it (client.md §1.6). Pure.

The server's own Status counts if it sent one; else one is made up from the code, marked by the
cause ``UnexpectedServerResponse``, because then something between us and the server answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proreus.api.json_types import JsonObject
from proreus.api.status import ApiError
from proreus.api.wire import json

if TYPE_CHECKING:
    from proreus.net.client.http_client import Headers

_TEXT_MAX = 2048
_REASONS: dict[int, tuple[str, str]] = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    403: ("Forbidden", "the server does not allow access to the requested resource"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    406: ("NotAcceptable", "the server cannot answer in a form that was asked for"),
    409: ("Conflict", "the server reported a conflict"),
    415: ("UnsupportedMediaType", "the server does not understand the content type"),
    422: ("Invalid", "the server could not process the entity"),
    429: ("TooManyRequests", "the server has received too many requests; try again later"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "the server could not answer in time"),
}


def is_success(status: int) -> bool:
    return 200 <= status <= 206


def failure(method: str, url: str, status: int, headers: Headers, body: bytes) -> ApiError:
    """What an unsuccessful answer means."""
    said = status_in(body)
    if said is not None and said.get("status") == "Failure":
        said.setdefault("code", status)
        return ApiError.from_status(said)
    return ApiError.from_status(_synthetic(method, url, status, headers, body))


def status_in(body: bytes) -> JsonObject | None:
    """The Status a body holds, None if it holds something else."""
    if b'"Status"' not in body:
        return None
    try:
        document = json.decode(body)
    except json.JSONDecodeError:
        return None
    is_status = isinstance(document, dict) and document.get("kind") == "Status"
    return document if is_status and document.get("apiVersion") == "v1" else None


def raise_hidden_failure(body: bytes) -> None:
    """A Status may say Failure although the answer's code said success."""
    found = status_in(body) if len(body) < 64 * 1024 else None
    if found is not None and found.get("status", "Success") != "Success":
        raise ApiError.from_status(found)


def retry_after_s(headers: Headers) -> int | None:
    """Seconds to wait, None if the header is missing or a date, which is not acted on."""
    text = headers.get("Retry-After").strip()
    return int(text) if text.isascii() and text.isdecimal() else None


def _synthetic(method: str, url: str, status: int, headers: Headers, body: bytes) -> JsonObject:
    reason, message = _REASONS.get(status, ("", ""))
    if not message:
        reason = "InternalError" if status >= 500 else ""
        message = f"the server answered with the unexpected code {status}"
    if status == 409 and method == "POST":
        reason = "AlreadyExists"
    text = _readable(headers, body)
    details: JsonObject = {
        "causes": [{"reason": "UnexpectedServerResponse", "message": text or "unknown"}]
    }
    if (wait_s := retry_after_s(headers)) is not None:
        details["retryAfterSeconds"] = wait_s
    found: JsonObject = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"{message} ({method} {url}){f': {text}' if text else ''}",
        "details": details,
        "code": status,
    }
    if reason:
        found["reason"] = reason
    return found


def _readable(headers: Headers, body: bytes) -> str:
    content_type = headers.get("Content-Type")
    if content_type and not content_type.startswith("text/"):
        return ""
    return body[:_TEXT_MAX].decode("utf-8", "replace").strip()
