"""A JSON reader by tokens: for texts with duplicate keys, lone surrogates or great depth.

Stands behind ``strict_json``, for the few bodies the fast decoder cannot be used for. One loop with
a stack of its own, so depth costs no interpreter stack. Cost: about a microsecond per token.

Kubernetes reads ten thousand levels, the encoder writes 254. What lies deeper is not kept but
marked ``TOO_DEEP``: it mostly stands under an unknown field, which is dropped anyway. Whoever
keeps a value asks ``holds_too_deep`` first.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

from proreus.api.field_error import FAULTS_MAX
from proreus.api.json_types import JsonObject
from proreus.lazy_dataclass import dataclass

KEPT_DEPTH = 254  # what the encoder writes

# The text is known to be valid: a token is what it begins with.
TOKEN = re.compile(
    r'[ \t\r\n,:]*+(?:([{\[])|([}\]])|"((?>(?:[^"\\]|\\.)*))"|([^ \t\r\n,:{}\[\]"]++))'
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_WORDS = {"true": True, "false": False, "null": None}


class NumberTooLarge(ValueError):
    """A number no float can hold; ``str(error)`` is Go's wording."""


class _TooDeep:
    """Stands for what is nested deeper than values are kept."""

    def __repr__(self) -> str:
        return "TOO_DEEP"


TOO_DEEP: Final = _TooDeep()


@dataclass(frozen=True, slots=True)
class JsonRead:
    """``duplicates``: the paths of keys given twice, such as ``spec.containers[0].image``; of very
    many only the first."""

    value: Any
    duplicates: tuple[str, ...]
    is_cut: bool  # something was too deep


class _Open:
    """A list or an object that is being read, and where the next value goes."""

    __slots__ = ("container", "key")

    def __init__(self, container: JsonObject | list[Any]) -> None:
        self.container = container
        self.key: str | None = None


class _Reader:
    def __init__(self, *, merge: bool) -> None:
        self.found: dict[str, None] = {}
        self.is_cut = False
        self.root: Any = None
        self._merge = merge
        self._stack: list[_Open] = []
        self._skipped = 0  # levels below the deepest kept one

    def read(self, text: str) -> None:
        for token in TOKEN.finditer(text):
            opening, closing, string, word = token.groups()
            if opening:
                self._open(opening)
            elif closing:
                self._close()
            elif self._skipped:
                continue
            elif string is not None:
                self._string(string)
            else:
                self._put(_WORDS[word] if word in _WORDS else _number(word))

    def _open(self, opening: str) -> None:
        if self._skipped or len(self._stack) == KEPT_DEPTH:
            self._skipped += 1
            self.is_cut = True
        else:
            self._stack.append(_Open({} if opening == "{" else []))

    def _close(self) -> None:
        if not self._skipped:
            self._put(self._stack.pop().container)
            return
        self._skipped -= 1
        if not self._skipped:
            self._put(TOO_DEEP)

    def _string(self, raw: str) -> None:
        text = text_of_token(raw)
        here = self._stack[-1] if self._stack else None
        if here is not None and isinstance(here.container, dict) and here.key is None:
            here.key = text
        else:
            self._put(text)

    def _put(self, value: Any) -> None:
        if not self._stack:
            self.root = value
            return
        here = self._stack[-1]
        if isinstance(here.container, list):
            here.container.append(value)
            return
        key, here.key = here.key, None
        assert key is not None, "the syntax was checked: a value in an object has a key"
        if key in here.container:
            if len(self.found) <= FAULTS_MAX:
                self.found[self._path(key)] = None
            value = _merged(here.container[key], value) if self._merge else value
        here.container[key] = value

    def _path(self, last: str) -> str:
        path = ""
        for step in self._stack[:-1]:
            if isinstance(step.container, list):
                path += f"[{len(step.container)}]"
            else:
                path += f".{step.key}" if path else step.key or ""
        return f"{path}.{last}" if path else last


def read_json(text: str, *, merge: bool) -> JsonRead:
    """Read valid JSON. With ``merge`` two objects under one key become one, else the last is kept.

    Raises NumberTooLarge.
    """
    reader = _Reader(merge=merge)
    reader.read(text)
    return JsonRead(reader.root, tuple(reader.found), reader.is_cut)


def holds_too_deep(value: Any) -> bool:
    """Whether a part of the value was too deep to be kept."""
    pending = [value]
    while pending:
        value = pending.pop()
        if value is TOO_DEEP:
            return True
        if isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    return False


def _merged(first: Any, second: Any) -> Any:
    """Into the first itself: a copy for each of very many duplicates would take for ever."""
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return second
    for key, value in second.items():
        first[key] = _merged(first[key], value) if key in first else value
    return first


def text_of_token(raw: str) -> str:
    """What a string means whose raw text this is."""
    return _LONE_SURROGATE.sub("�", _unescaped(raw))


def _unescaped(raw: str) -> str:
    if "\\" not in raw:
        return raw
    text = _ESCAPE.sub(_escaped, raw)
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)


def _escaped(found: re.Match[str]) -> str:
    code, char = found.groups()
    return chr(int(code, 16)) if code else _ESCAPED.get(char, char)


def _number(digits: str) -> int | float:
    """What fits no 64 bits is read as a float, here as by the fast decoder."""
    if not {".", "e", "E"}.isdisjoint(digits):
        return _float(digits)
    if len(digits) < 19:
        return int(digits)
    fits = len(digits) < 21 and -(2**63) <= int(digits) < 2**64
    return int(digits) if fits else _float(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        text = f"json: cannot unmarshal number {digits} into Go value of type float64"
        raise NumberTooLarge(text)
    return value
