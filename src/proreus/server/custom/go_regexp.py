"""Patterns are Go's regular expressions, which take time linear in the text.

Python's may take for ever, so that they only read what is short for a simple pattern, which is
nearly everything and fastest so. The rest is RE2's if it is there, with the extra ``cel``, and
``linear_regexp``'s if not. What Go refuses is refused, in its words as far as they are known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from proreus.server.custom.cel.checker import is_available
from proreus.server.custom.cel.regular_expressions import matches
from proreus.server.custom.cel.values import EvaluationError
from proreus.server.custom.linear_regexp import LinearPattern, TooLaborious

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
# A quotation, an escape, a class, or the end of the text.
_PART = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|$)|\\x\{(?P<code>[0-9A-Fa-f]+)\}|\\(?P<escaped>.)"
    r"|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|(?P<end>\$)",
    re.DOTALL,
)
_FOLDING = re.compile(r"\(\?[a-zA-Z]*i")
_BY_LINES = re.compile(r"\(\?[a-zA-Z]*m")
_REPEATED_GROUP = re.compile(r"\)[*+{]")
# What a backtracking engine may have to try in more than one way.
_CHOICE = re.compile(r"(?<!\\)(?:[*+|]|(?<!\()\?|\{\d+,\d*\})")
_DOUBLE_REPEAT = re.compile(r"[*+?]\+")
_STEPS_MAX = 20_000  # of Python's engine, per text


@dataclass(frozen=True, slots=True)
class _Simple:
    """A pattern Python may run: ``degree`` is how its time grows with the text, at worst."""

    pattern: re.Pattern[str]
    degree: int


def is_found(pattern: str, text: str) -> bool:
    """Whether a pattern matches anywhere in a text. Without RE2 raises TooLaborious."""
    simple = _simple(pattern)
    if simple is not None and max(len(text), 2) ** simple.degree <= _STEPS_MAX:
        return simple.pattern.search(text) is not None
    if is_available():
        try:
            return matches(text, pattern)
        except EvaluationError:
            pass  # what was taken when the definition was written, by a server without it
    return _linear(pattern).is_found(text)


@lru_cache(maxsize=4096)
def _simple(pattern: str) -> _Simple | None:
    if _REPEATED_GROUP.search(pattern) or _UNICODE_CLASS.search(pattern):
        return None
    if not pattern.isascii() and _FOLDING.search(pattern):
        return None  # Python folds all letters, or none but ASCII's
    choices = len(_CHOICE.findall(pattern))
    is_anchored = pattern.startswith("^") and "|" not in pattern
    try:
        return _Simple(compiled(pattern), max(1, choices if is_anchored else choices + 1))
    except re.error:
        return None


@lru_cache(maxsize=256)
def _linear(pattern: str) -> LinearPattern:
    return LinearPattern(translated(pattern))


@lru_cache(maxsize=4096)
def compiled(text: str) -> re.Pattern[str]:
    return re.compile(translated(text), re.ASCII)


def translated(text: str) -> str:
    """In Python's syntax. Unicode classes, which Python does not have, take any character."""
    by_lines = bool(_BY_LINES.search(text))

    def part(found: re.Match[str]) -> str:
        if (quoted := found["quoted"]) is not None:
            return re.escape(quoted)
        if (code := found["code"]) is not None:
            return re.escape(chr(int(code, 16)))
        if (escaped := found["escaped"]) is not None:
            return r"\Z" if escaped == "z" else found[0]
        if found["end"]:
            return "$" if by_lines else r"\Z"  # Python's end may be followed by a line break
        spelled = found[0]
        for word, characters in _CLASSES.items():
            spelled = spelled.replace(word, characters)
        return spelled

    return _PART.sub(part, _UNICODE_CLASS.sub(r"\\w", text))


def regexp_error(text: str) -> str:
    """Why Go does not take a pattern, "" if it does."""
    if found := _PERL_ONLY.search(text):
        start = found.group()
        shown = start if start.startswith("(?<") else start[:3]
        return f"error parsing regexp: invalid or unsupported Perl syntax: `{shown}`"
    if is_available():
        try:
            matches("", text)
        except EvaluationError as refused:
            return _python_error(text) or str(refused)
        return ""
    try:
        _linear(text)
    except TooLaborious as error:
        return f"{error} for a server without the extra `cel`: `{text}`"
    except re.error as error:
        return _python_error(text) or f"error parsing regexp: {error.msg}: `{text}`"
    return ""


def _python_error(text: str) -> str:
    """What Python says of it, in Go's words."""
    try:
        compiled(text)
    except re.error as error:
        for word, said in _WORDS:
            if error.msg.startswith(word):
                part = text if "closing" in said or "unexpected" in said else _part(text, error)
                return f"error parsing regexp: {said.format(part)}"
        return f"error parsing regexp: {error.msg}: `{text}`"
    if found := _DOUBLE_REPEAT.search(text):
        return f"error parsing regexp: invalid nested repetition operator: `{found[0]}`"
    return ""


def _part(text: str, error: re.error) -> str:
    at = error.pos or 0
    return text[at : at + 2] if "escape" in error.msg else text[at : at + 1]
