"""Patterns are Go's regular expressions; Python's are close enough to run most of them.

Go's take time linear in the text. Python's may take for ever where repetitions are nested, so
that such patterns are left to RE2 if it is there, with the extra ``cel``. What Go refuses is
refused here too, in its words as far as they are known.
"""

from __future__ import annotations

import re
from functools import lru_cache

from proreus.server.custom.cel.checker import is_available
from proreus.server.custom.cel.regular_expressions import matches
from proreus.server.custom.cel.values import EvaluationError

_WORDS = (
    ("missing ), unterminated subpattern", "missing closing ): `{}`"),
    ("unbalanced parenthesis", "unexpected ): `{}`"),
    ("unterminated character set", "missing closing ]: `{}`"),
    ("nothing to repeat", "missing argument to repetition operator: `{}`"),
    ("multiple repeat", "invalid nested repetition operator: `{}`"),
    ("bad character range", "invalid character class range: `{}`"),
    ("bad escape (end of pattern)", "trailing backslash at end of expression: `{}`"),
    ("bad escape", "invalid escape sequence: `{}`"),
)
_CLASSES = {
    "[:alnum:]": "0-9A-Za-z",
    "[:alpha:]": "A-Za-z",
    "[:digit:]": "0-9",
    "[:lower:]": "a-z",
    "[:upper:]": "A-Z",
    "[:punct:]": r"!-/:-@\[-`{-~",
    "[:space:]": r"\t\n\v\f\r ",
    "[:word:]": "0-9A-Za-z_",
    "[:xdigit:]": "0-9A-Fa-f",
}
_UNICODE_CLASS = re.compile(r"\\[pP](?:\{\^?\w+\}|\w)")
_PERL_ONLY = re.compile(r"(?<!\\)\(\?(?:=|!|<=|<!|>|\()")


_REPEATED_GROUP = re.compile(r"\)[*+{]")
_OPEN_REPEAT = re.compile(r"(?<!\\)(?:[*+]|\{\d+,\})")
_HARMLESS_REPEATS = 2


def is_found(pattern: str, text: str) -> bool:
    """Whether a pattern matches anywhere in a text."""
    if _is_for_re2(pattern):
        try:
            return matches(text, pattern)
        except EvaluationError:
            pass  # it takes what Python took when the definition was written, or nearly
    return compiled(pattern).search(text) is not None


@lru_cache(maxsize=4096)
def _is_for_re2(pattern: str) -> bool:
    is_harmless = (
        not _REPEATED_GROUP.search(pattern)
        and not _UNICODE_CLASS.search(pattern)
        and len(_OPEN_REPEAT.findall(pattern)) <= _HARMLESS_REPEATS
    )
    return not is_harmless and is_available()


@lru_cache(maxsize=4096)
def compiled(text: str) -> re.Pattern[str]:
    """The pattern for Python. Unicode classes, which Python does not have, take any character."""
    for word, characters in _CLASSES.items():
        text = text.replace(word, characters)
    text = _UNICODE_CLASS.sub(r"\\w", text)
    return re.compile(text.replace(r"\z", r"\Z"))


def regexp_error(text: str) -> str:
    """Why Go does not take a pattern, "" if it does."""
    if found := _PERL_ONLY.search(text):
        start = found.group()
        shown = start if start.startswith("(?<") else start[:3]
        return f"error parsing regexp: invalid or unsupported Perl syntax: `{shown}`"
    try:
        compiled(text)
    except re.error as error:
        for word, said in _WORDS:
            if error.msg.startswith(word):
                part = text if "closing" in said or "unexpected" in said else _part(text, error)
                return f"error parsing regexp: {said.format(part)}"
        return f"error parsing regexp: {error.msg}: `{text}`"
    return ""


def _part(text: str, error: re.error) -> str:
    at = error.pos or 0
    return text[at : at + 2] if "escape" in error.msg else text[at : at + 1]
