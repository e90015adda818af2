"""What a YAML scalar means: the resolver of the YAML library under Kubernetes, on its own.

Plain scalars resolve by YAML 1.1 words and Go's number syntax; quoted ones are text.
"""

from __future__ import annotations

import base64
import binascii
import math
import re

Scalar = str | bool | int | float | None
PLAIN = "!plain"

_TAG = "tag:yaml.org,2002:"
_KINDS = {str: "str", bool: "bool", int: "int", float: "float", type(None): "null"}
_WORDS: dict[str, Scalar] = (
    dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True)
    | dict.fromkeys(
        ["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False
    )
    | dict.fromkeys(["", "~", "null", "Null", "NULL"], None)
    | dict.fromkeys([".nan", ".NaN", ".NAN"], math.nan)
    | dict.fromkeys([".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"], math.inf)
    | dict.fromkeys(["-.inf", "-.Inf", "-.INF"], -math.inf)
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
# 64 bits in base two and some zeros in front; Python refuses to read endless numbers.
_INTEGER_CHARS_MAX = 256
_SIXTY = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_DATE = re.compile(
    r"[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?"
    r"(?:(?:[Tt]|[ \t]+)[0-9][0-9]?:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?"
    r"(?:[ \t]*(?:Z|[-+][0-9][0-9]?(?::[0-9]{2})?))?)?"
)


class ScalarError(ValueError):
    """A scalar that is not what its tag says."""


def resolve(tag: str, text: str) -> Scalar:
    """The value of a scalar node; ``tag`` is PLAIN for an untagged, unquoted one."""
    match tag.removeprefix(_TAG):
        case "!plain":
            return _resolve_plain(text)
        case "int" | "float" | "bool" | "null" as wanted:
            value = _resolve_plain(text)
            if (found := _KINDS[type(value)]) not in (wanted, "int" if wanted == "float" else ""):
                raise _tag_mismatch(found, text, wanted)
            return value
        case "timestamp" if not _DATE.fullmatch(text):
            raise _tag_mismatch(_KINDS[type(_resolve_plain(text))], text, "timestamp")
        case "binary":
            return _binary(text)
        case _:
            return text


def _tag_mismatch(found: str, text: str, wanted: str) -> ScalarError:
    return ScalarError(f"cannot decode !!{found} `{text}` as a !!{wanted}")


def reads_as_text(text: str) -> bool:
    """Whether ``text`` written plain would be read back as this string."""
    if text == "<<" or not isinstance(_resolve_plain(text), str):
        return False
    # Other readers take 12:30 for a number and dates for times; quoting keeps them text.
    return not (_SIXTY.fullmatch(text) or _DATE.fullmatch(text))


def number_text(value: int | float) -> str:
    """A number as a map key or in a message."""
    if isinstance(value, int):
        return str(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def _resolve_plain(text: str) -> Scalar:
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    digits = text.replace("_", "")
    if (number := _integer(digits)) is not None:
        return number
    if _FLOAT.fullmatch(digits):
        fraction = float(digits)
        return text if math.isinf(fraction) else fraction  # what is too large for a number is text
    return text


def _integer(digits: str) -> int | None:
    matched = _INTEGER.fullmatch(digits)
    # 64 binary digits and a prefix are the longest that can fit.
    if not matched or len(digits) > 68:
        return None
    sign, hexadecimal, binary, octal, decimal = matched.groups()
    if len(digits) > _INTEGER_CHARS_MAX:
        return None
    for part, radix in ((hexadecimal, 16), (binary, 2), (octal, 8), (decimal, 10)):
        if part is not None:
            value = int(part, radix) * (-1 if sign == "-" else 1)
            # What fits no 64 bits is tried as a float next, which only decimal digits pass.
            return value if -(2**63) <= value < 2**64 else None
    return None


def _binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
    except binascii.Error as bad:
        raise ScalarError("!!binary value contains invalid base64 data") from bad
