"""What is wrong with a text that should be JSON, in the words of Go's scanner.

Only run after decoding failed: one pass over the bytes with an explicit stack, so depth costs
memory in proportion to the body and never the interpreter's stack. Runs of shallow values and of
brackets, of which long bodies consist, are passed over in one step each: a second for 3 MiB of the
worst.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import cache
from typing import NamedTuple

MAX_DEPTH = 10_000  # Go's
_SHALLOW = 2  # levels
_LONG = 16 * 1024  # what is shorter is read step by step in no time

_SPACE = b" \t\r\n"
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*+')
_S = rb"[ \t\r\n]*+"
# A group is repeated inside an atomic one: until Python 3.11.5 a possessive quantifier of a group
# with alternatives matched too little.
_TEXT = rb'"(?>(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*)"'
_SCALAR = rb"(?>%b|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null)" % _TEXT


def _or_nested(value: bytes) -> bytes:
    """A pattern for the value, a list of it or an object of it."""
    element, member = value + _S, _TEXT + _S + b":" + _S + value + _S
    some = rb"(?>(?:%b(?:,%b%b)*)?)"
    items, members = some % (element, _S, element), some % (member, _S, member)
    return rb"(?>%b|\[%b%b\]|\{%b%b\})" % (value, _S, items, _S, members)


class _Runs(NamedTuple):
    elements: re.Pattern[bytes]
    members: re.Pattern[bytes]


@cache
def _runs() -> _Runs:
    """Shallow values, each followed by a comma, then the last one (group 1) or what opens a deeper
    one (group 2); made when first needed: it takes 30 ms."""
    shallow = _or_nested(_or_nested(_SCALAR))
    key = _TEXT + _S + b":" + _S
    ending = rb"(?:(%b%b(?=[\]}]))|((?>(?:\[%b){1,64})|\{))"
    last = ending % (shallow, _S, _S)
    return _Runs(
        re.compile(rb"%b(?>(?:%b%b,%b)*)(?>%b?)" % (_S, shallow, _S, _S, last)),
        re.compile(rb"%b(?>(?:%b%b%b,%b)*)(?>(?:%b%b)?)" % (_S, key, shallow, _S, _S, key, last)),
    )


_CLOSED = re.compile(rb"%b([\]}]{0,%d}+)%b(,?)" % (_S, MAX_DEPTH, _S))
_CLOSING = bytes.maketrans(b"[{", b"]}")
_WORDS = {b"t"[0]: b"true", b"f"[0]: b"false", b"n"[0]: b"null"}
_ESCAPES = b'"\\/bfnrtu'
_HEX = b"0123456789abcdefABCDEF"
_END = "unexpected end of JSON input"


class _Expect(Enum):
    VALUE = auto()
    VALUE_OR_CLOSE = auto()  # after "["
    KEY_OR_CLOSE = auto()  # after "{"
    KEY = auto()  # after "," in an object
    COLON = auto()
    AFTER_VALUE = auto()


def explain(data: bytes, *, max_depth: int = MAX_DEPTH) -> str:
    """Go's message for the first fault, "" if the syntax is fine."""
    stack = bytearray()
    expect = _Expect.VALUE
    at = 0
    while True:
        expect, at = _pass_faultless(data, at, expect, stack, max_depth)
        while at < len(data) and data[at] in _SPACE:
            at += 1
        if at == len(data):
            done = expect is _Expect.AFTER_VALUE and not stack
            return "" if done else _END
        found = data[at]
        match expect:
            case _Expect.AFTER_VALUE:
                fault, expect = _after_value(found, stack)
                at += 1
            case _Expect.COLON:
                fault = "" if found == ord(":") else _unexpected(found, "after object key")
                expect = _Expect.VALUE
                at += 1
            case _Expect.KEY | _Expect.KEY_OR_CLOSE if found != ord('"'):
                if not (expect is _Expect.KEY_OR_CLOSE and found == ord("}")):
                    return _unexpected(found, "looking for beginning of object key string")
                stack.pop()
                fault, expect, at = "", _Expect.AFTER_VALUE, at + 1
            case _Expect.KEY | _Expect.KEY_OR_CLOSE:
                fault, at = _string(data, at)
                expect = _Expect.COLON
            case _Expect.VALUE_OR_CLOSE if found == ord("]"):
                stack.pop()
                fault, expect, at = "", _Expect.AFTER_VALUE, at + 1
            case _:
                fault, expect, at = _value(data, at, stack, max_depth)
        if fault:
            return fault


def _pass_faultless(
    data: bytes, at: int, expect: _Expect, stack: bytearray, max_depth: int
) -> tuple[_Expect, int]:
    """Go on to shortly before the next fault, in few steps."""
    if len(data) < _LONG:
        return expect, at
    while stack:
        before = at
        if expect is _Expect.AFTER_VALUE:
            expect, at = _pass_closed(data, at, stack)
        elif expect is not _Expect.COLON:
            expect, at = _pass_run(data, at, expect, stack, max_depth)
        if at == before:
            break
    return expect, at


def _pass_closed(data: bytes, at: int, stack: bytearray) -> tuple[_Expect, int]:
    """Past what closes what is open, and a comma."""
    found = _CLOSED.match(data, at)
    assert found, "nothing is found as well"
    size = found.end(1) - found.start(1)
    if size and found[1] != stack[-size:].translate(_CLOSING)[::-1]:
        return _Expect.AFTER_VALUE, at
    del stack[len(stack) - size :]
    if not found[2] or not stack:
        return _Expect.AFTER_VALUE, found.end(1)
    return _Expect.KEY if stack[-1] == ord("{") else _Expect.VALUE, found.end()


def _pass_run(
    data: bytes, at: int, expect: _Expect, stack: bytearray, max_depth: int
) -> tuple[_Expect, int]:
    """Past elements or members, into one that is deep."""
    inside_object = stack[-1] == ord("{")
    if inside_object is (expect in (_Expect.VALUE, _Expect.VALUE_OR_CLOSE)):
        return expect, at  # behind a colon
    if len(stack) + _SHALLOW > max_depth:
        return expect, at  # a step at a time, to see where it is too deep
    found = (_runs().members if inside_object else _runs().elements).match(data, at)
    assert found, "nothing is found as well"
    last, opened = found.groups()
    if last:
        return _Expect.AFTER_VALUE, found.end()
    end = found.end()
    if not opened:
        then = _Expect.KEY if inside_object else _Expect.VALUE
        return (then, end) if data[at:end].strip(_SPACE) else (expect, at)
    if len(stack) + len(opened) > max_depth:
        return expect, at
    stack += opened.translate(None, _SPACE)
    return _Expect.KEY_OR_CLOSE if opened == b"{" else _Expect.VALUE_OR_CLOSE, end


def _after_value(found: int, stack: bytearray) -> tuple[str, _Expect]:
    if not stack:
        return _unexpected(found, "after top-level value"), _Expect.AFTER_VALUE
    inside_object = stack[-1] == ord("{")
    if found == ord(","):
        return "", _Expect.KEY if inside_object else _Expect.VALUE
    if found == (ord("}") if inside_object else ord("]")):
        stack.pop()
        return "", _Expect.AFTER_VALUE
    where = "after object key:value pair" if inside_object else "after array element"
    return _unexpected(found, where), _Expect.AFTER_VALUE


def _value(data: bytes, at: int, stack: bytearray, max_depth: int) -> tuple[str, _Expect, int]:
    found = data[at]
    if found in b"{[":
        stack.append(found)
        if len(stack) > max_depth:
            return _unexpected(found, "exceeded max depth"), _Expect.VALUE, at
        opened = _Expect.KEY_OR_CLOSE if found == ord("{") else _Expect.VALUE_OR_CLOSE
        return "", opened, at + 1
    if found == ord('"'):
        fault, at = _string(data, at)
    elif found in b"-0123456789":
        fault, at = _number(data, at)
    elif found in _WORDS:
        fault, at = _word(data, at, _WORDS[found])
    else:
        fault = _unexpected(found, "looking for beginning of value")
    return fault, _Expect.AFTER_VALUE, at


def _string(data: bytes, at: int) -> tuple[str, int]:
    at += 1
    while at < len(data):
        at = _end_of_plain(data, at)
        if at == len(data):
            break
        found = data[at]
        if found == ord('"'):
            return "", at + 1
        if found < 0x20:
            return _unexpected(found, "in string literal"), at
        if found == ord("\\"):
            at += 1
            if _at(data, at) not in _ESCAPES:
                return _unexpected(_at(data, at), "in string escape code"), at
            if data[at] == ord("u"):
                for place in range(at + 1, at + 5):
                    if (digit := _at(data, place)) not in _HEX:
                        return _unexpected(digit, "in \\u hexadecimal character escape"), at
        at += 1
    return _END, at


def _end_of_plain(data: bytes, at: int) -> int:
    plain = _PLAIN.match(data, at)
    assert plain, "an empty run is one too"
    return plain.end()


def _number(data: bytes, at: int) -> tuple[str, int]:
    matched = _NUMBER.match(data, at)
    if matched:
        end = matched.end()
        if end == len(data) or data[end] not in b".eE":
            return "", end
        exponent = data[end] in b"eE"
        at = end + 1
        if exponent and data[at : at + 1] in (b"+", b"-"):
            at += 1
        where = (
            "in exponent of numeric literal"
            if exponent
            else "after decimal point in numeric literal"
        )
    else:
        at += 1
        where = "in numeric literal"
    return _unexpected(_at(data, at), where), at


def _word(data: bytes, at: int, word: bytes) -> tuple[str, int]:
    for offset, wanted in enumerate(word):
        if (found := _at(data, at + offset)) != wanted:
            where = f"in literal {word.decode()} (expecting '{chr(wanted)}')"
            return _unexpected(found, where), at
    return "", at + len(word)


def _at(data: bytes, at: int) -> int:
    """Go puts a blank behind the text to see whether it may end there."""
    return data[at] if at < len(data) else ord(" ")


def _unexpected(found: int, where: str) -> str:
    return f"invalid character {_quoted(found)} {where}"


def _quoted(byte: int) -> str:
    named = {0x27: r"'\''", 0x22: "'\"'", 0x0A: r"'\n'", 0x0D: r"'\r'", 0x09: r"'\t'"}
    if byte in named:
        return named[byte]
    if byte < 0x20 or byte == 0x7F:
        return f"'\\x{byte:02x}'"
    if 0x80 <= byte < 0xA1 or byte == 0xAD:
        return f"'\\u{byte:04x}'"
    return f"'{chr(byte)}'"
