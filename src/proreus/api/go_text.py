"""Values as Go's fmt package prints them, where Kubernetes lets them into its messages."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any


def plain(value: Any) -> str:
    """``%v``: ``map[a:1 b:[x y]]``."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            inside = " ".join(f"{key}:{plain(value[key])}" for key in sorted(value))
            return f"map[{inside}]"
        case list():
            return f"[{' '.join(plain(item) for item in value)}]"
        case float():
            return number(value)
        case _:
            return str(value)


def text(value: Any) -> str:
    """``%s``: as ``%v`` for what is text, and what Go says of the type for what is not."""
    match value:
        case str():
            return value
        case dict():
            return f"map[{' '.join(f'{key}:{text(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(text(item) for item in value)}]"
        case None:
            return "%!s(<nil>)"
        case _:
            return f"%!s({type_name(value)}={plain(value)})"


def syntax(value: Any, keys: str = "string") -> str:
    """``%#v``: ``map[string]interface {}{"a":1}``; ``keys`` is the type of the keys of maps."""
    match value:
        case None:
            return "interface {}(nil)"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value)
        case dict():
            inside = ", ".join(f"{quoted(key)}:{syntax(value[key], keys)}" for key in sorted(value))
            return f"map[{keys}]interface {{}}{{{inside}}}"
        case list():
            return f"[]interface {{}}{{{', '.join(syntax(item, keys) for item in value)}}}"
        case float():
            return number(value)
        case int() if value >= 2**63:
            return hex(value)  # it is unsigned
        case _:
            return str(value)


_TYPE_NAMES = {
    type(None): "<nil>", bool: "bool", int: "int64", float: "float64", str: "string",
    list: "[]interface {}",
}  # fmt: skip
_JSON_KINDS = {
    type(None): "null", bool: "bool", int: "number", float: "number", str: "string", list: "array",
}  # fmt: skip


def type_name(value: Any) -> str:
    """``%T`` of a decoded JSON value."""
    return _TYPE_NAMES.get(type(value), "map[string]interface {}")


def json_kind(value: Any) -> str:
    """What ``encoding/json`` calls a value it cannot unmarshal."""
    return _JSON_KINDS.get(type(value), "object")


def mistyped(value: Any, wanted: str) -> str:
    """What ``encoding/json`` says of a value that is not of the Go type ``wanted``."""
    return f"json: cannot unmarshal {json_kind(value)} into Go value of type {wanted}"


def number(value: float) -> str:
    """``%v`` of a float64: the fewest digits that identify it, with an exponent from 1e+06 on."""
    if not math.isfinite(value):
        return {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
    shortest = repr(value)
    exponent = Decimal(shortest).adjusted()
    if -4 <= exponent < 6:
        return shortest.removesuffix(".0")
    digits = shortest.partition("e")[0].replace("-", "").replace(".", "").strip("0")
    point = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{'-' if value < 0 else ''}{digits[0]}{point}e{exponent:+03d}"


def json_text(value: object) -> str:
    """What Go's JSON encoder writes: numbers its own way, and all of it safe inside of HTML."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _TOKEN.sub(_json_number, written).translate(_NOT_IN_HTML)


def _json_number(token: re.Match[str]) -> str:
    text = token[0]
    if text.startswith('"') or not (set(text) & {".", "e"}):
        return text
    digits = Decimal(text)
    if not digits or -6 <= digits.adjusted() < 21:
        return f"{digits:f}".removesuffix(".0")
    return re.sub(r"(\.0)?e([+-])0*", r"e\2", text)


def quoted(text: str) -> str:
    """``%q``."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.e+-]*')
_NOT_IN_HTML = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_ESCAPES = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r",
    "\t": "\\t", "\v": "\\v",
}  # fmt: skip
