"""The grammar of label selectors, without meaning: text → keys, operators, values.

    selector    = requirement { "," requirement }
    requirement = [ "!" ] key | key operator values
    operator    = "=" | "==" | "!=" | ">" | "<" | "in" | "notin"
    values      = [ value ] | "(" [ value ] { "," [ value ] } ")"      (lists only for in, notin)

White space separates words and means nothing else; ``in`` and ``notin`` are ordinary words except
where an operator is expected. A missing value is the empty string. Error texts are the ones clients
know from Kubernetes.
"""

from __future__ import annotations

import re
from typing import Generic, NamedTuple, Protocol, TypeVar

from proreus.api.selectors.errors import SelectorError

_SPECIAL = "=!(),><"
_SPACE = " \t\r\n"
_NUL = "\0"
_WORD_ENDS = _SPECIAL + _SPACE + _NUL
_LONG_OPERATORS = ("==", "!=")
_OPERATORS = {"in": "in", "notin": "notin", "=": "=", "==": "==", "!=": "!=", ">": "gt", "<": "lt"}
_END = ""
_TOKEN = re.compile(r"==|!=|[=!(),><]|[^=!(),>< \t\r\n]+")

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class RawRequirement(NamedTuple):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class Checks(Protocol[T_co]):
    """Both raise SelectorError."""

    def key(self, key: str) -> None: ...

    def requirement(self, raw: RawRequirement) -> T_co: ...


class Parser(Generic[T]):
    """Reads one selector; ``checks`` turn each raw requirement into the caller's value."""

    def __init__(self, text: str, checks: Checks[T]) -> None:
        self._tokens = _tokens(text)
        self._next = 0
        self._checks = checks

    def requirements(self) -> list[T]:
        found: list[T] = []
        while (token := self._peek()) != _END:
            if token != "!" and not _is_word(token):
                raise SelectorError(f"found '{token}', expected: !, identifier, or 'end of string'")
            found.append(self._requirement())
            if (token := self._take()) == _END:
                break
            if token != ",":
                raise SelectorError(f"found '{token}', expected: ',' or 'end of string'")
            following = self._peek()
            if following != "!" and not _is_word(following):
                raise SelectorError(f"found '{following}', expected: identifier after ','")
        return found

    def _requirement(self) -> T:
        try:
            return self._checks.requirement(self._raw_requirement())
        except SelectorError as problem:
            raise SelectorError(f"unable to parse requirement: {problem}") from problem

    def _raw_requirement(self) -> RawRequirement:
        absent = self._peek() == "!"
        if absent:
            self._take()
        key = self._take()
        if not _is_word(key):
            raise SelectorError(f"found '{key}', expected: identifier")
        if absent:
            return RawRequirement(key, "!")
        # Kubernetes refuses a bad key before it looks at the rest.
        self._checks.key(key)
        if self._peek() in (_END, ","):
            return RawRequirement(key, "exists")
        word = self._take()
        if word not in _OPERATORS:
            raise SelectorError(f"found '{word}', expected: {', '.join(_OPERATORS.values())}")
        operator = _OPERATORS[word]
        values = self._list() if operator in ("in", "notin") else (self._value(),)
        return RawRequirement(key, operator, values)

    def _value(self) -> str:
        if self._peek() in (_END, ","):
            return ""
        token = self._take()
        if not _is_word(token):
            raise SelectorError(f"found '{token}', expected: identifier")
        return token

    def _list(self) -> tuple[str, ...]:
        if (token := self._take()) != "(":
            raise SelectorError(f"found '{token}' expected: '('")
        ahead = self._peek()
        if ahead not in (",", ")") and not _is_word(ahead):
            raise SelectorError(f"found '{ahead}', expected: ',', ')' or identifier")
        values: list[str] = []
        while ahead != ")":
            token, ahead = self._take(), self._peek()
            if _is_word(token):
                values.append(token)
                if ahead not in (",", ")"):
                    raise SelectorError(f"found '{ahead}', expected: ',' or ')'")
            elif token != ",":
                raise SelectorError(f"found '{token}', expected: ',', or identifier")
            elif not values or ahead in (",", ")"):
                values.append("")
                if ahead == ",":
                    self._take()  # Kubernetes takes two commas at once, and wants more after them
        self._take()
        return tuple(values) or ("",)

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else _END

    def _take(self) -> str:
        token = self._peek()
        self._next += 1
        return token


def _tokens(text: str) -> list[str]:
    return _tokens_before_nul(text) if _NUL in text else _TOKEN.findall(text)


def _tokens_before_nul(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character in _SPACE:
            position += 1
            continue
        if character == _NUL:
            break
        end = position + 1
        if character in _SPECIAL:
            if text[position : position + 2] in _LONG_OPERATORS:
                end += 1
        else:
            while end < len(text) and text[end] not in _WORD_ENDS:
                end += 1
        tokens.append(text[position:end])
        # A NUL ends a word and is passed over; where a word should begin it ends the selector.
        position = end + 1 if text[end : end + 1] == _NUL else end
    return tokens


def _is_word(token: str) -> bool:
    return token != _END and token[0] not in _SPECIAL
