"""The query string, read as Kubernetes reads it (server.md §2.1, §12).

Of a repeated parameter the first value counts, except where an option is a list. A parameter with
a broken ``%`` escape or a ``;`` is lost silently. Values parse by Go's rules, with Go's words.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote_plus

from proreus.api import go_text
from proreus.api.status import BadRequest
from proreus.api.wire.path import BadPathEscape, unescape

Query = Mapping[str, list[str]]

_INT64 = 2**63
_UINT64 = 2**64
_DIGITS_MAX = 1000  # more than any number in range has; Python refuses to read much longer ones
EMPTY: Query = {}


def parse_query(raw: str) -> Query:
    if not raw:
        return EMPTY
    found: dict[str, list[str]] = {}
    for pair in raw.split("&"):
        if not pair or ";" in pair:
            continue
        key, _, value = pair.partition("=")
        try:
            name, text = _text(key), _text(value)
        except BadPathEscape:
            continue
        found.setdefault(name, []).append(text)
    return found


def first(query: Query, name: str) -> str:
    """The first value of a parameter, "" if absent."""
    values = query.get(name)
    return values[0] if values else ""


def boolean(query: Query, name: str) -> bool:
    """Absent, ``0`` and ``false`` are false, all else (``watch=`` too) is true."""
    return optional_boolean(query, name) is True


def optional_boolean(query: Query, name: str) -> bool | None:
    values = query.get(name)
    if not values:
        return None
    return values[0] != "0" and values[0].lower() != "false"


def integer(query: Query, name: str) -> int | None:
    """None if absent. Raises BadRequest, also for an empty value."""
    values = query.get(name)
    return parse_int64(values[0]) if values else None


def parse_int64(text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not digits.isascii() or not digits.isdigit():
        raise BadRequest(f"strconv.ParseInt: parsing {go_text.quoted(text)}: invalid syntax")
    if len(digits) > _DIGITS_MAX or not -_INT64 <= (value := int(text)) < _INT64:
        raise BadRequest(f"strconv.ParseInt: parsing {go_text.quoted(text)}: value out of range")
    return value


class RevisionError(ValueError):
    """A resourceVersion that is no number; ``why`` is Go's message, ``str`` names the field too."""

    def __init__(self, text: str, why: str) -> None:
        rendered = go_text.quoted(text)
        self.why = f"strconv.ParseUint: parsing {rendered}: {why}"
        super().__init__(f"resourceVersion: Invalid value: {rendered}: {self.why}")


def parse_resource_version(text: str) -> int:
    """ "" and "0" are 0. Raises RevisionError."""
    if not text:
        return 0
    if not text.isascii() or not text.isdigit():
        raise RevisionError(text, "invalid syntax")
    if len(text) > _DIGITS_MAX or (value := int(text)) >= _UINT64:
        raise RevisionError(text, "value out of range")
    return value


def _text(raw: str) -> str:
    if "%" not in raw and "+" not in raw:
        return raw
    unescape(raw)
    return unquote_plus(raw, errors="replace")
