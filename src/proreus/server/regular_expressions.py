"""Users' regular expressions: Go's syntax, matched by RE2 in time linear in the text.

No user's expression may reach Python's ``re``: it backtracks, and a few characters can make it run
for ever. RE2 cannot, but compiling an expression and matching it still cost as much as it is
large, so the size of an expression is bounded here and ``steps`` bounds a match beforehand. RE2
lets go of the interpreter's lock while it matches, not while it compiles.

What Go refuses is refused, in Go's words. Two expressions that Go takes are refused as too large:
those of more than ``LENGTH_MAX`` characters, and those that are that large once their repetitions
are written out.

RE2 is loaded with the first expression: it takes 1.6 MB, and most servers are given none.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from proreus.lazy_dataclass import dataclass

LENGTH_MAX = 10_000
_ATOMS_MAX = 5_000  # a chain of so many optional atoms takes RE2 a tenth of a second to compile
_UNICODE_CLASS_ATOMS = 40  # RE2 matches bytes: such a class is a program of its own
_DEPTH_MAX = _REPEAT_MAX = 1_000  # Go's
_MEMORY_BYTES = 1 << 20
_MEMORY_OF_LARGE_BYTES = 8 << 20
_SCANNED_MAX = 1 << 31  # characters looked at to find all matches: some seconds
_TOO_LARGE = b"pattern too large"
_PREFIX = "error parsing regexp: "
# RE2's words for what is wrong, and Go's.
_WORDS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
}
# Every alternative that has begun matches to its end, so that reading takes one pass.
_TOKEN = re.compile(
    r"""\\Q(?P<quoted>.*?)(?:\\E|\Z)
    |\\(?P<unicode>[pP])(?:\{[^}]{0,50}\}?|.)?
    |\\(?P<byte>C)
    |\\x\{[0-9A-Fa-f]*\}?
    |\\.?
    |(?P<set>\[\^?\]?(?:\[:\^?\w{1,10}:\]|\\.|[^\]\\])*(?:\]|\\?\Z))
    |(?P<open>\((?:\?(?:P?<\w*>|[imsU-]*:?))?)
    |(?P<close>\))
    |(?P<none>[*+?|])
    |\{(?P<least>\d{1,9})(?P<comma>,)?(?P<most>\d{1,9})?\}
    |.""",
    re.DOTALL | re.VERBOSE,
)


class InvalidExpression(ValueError):
    """Not an expression of Go's, or too large. The text says why, as Go would."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression. Matches anywhere in a text, unless it is anchored."""

    _compiled: Any  # the library has no types
    size: int  # instructions

    def steps(self, text: str) -> int:
        """What a match may take at worst; about 25 ns each, usually far less."""
        return self.size * (len(text) + 1)

    def is_found(self, text: str) -> bool:
        return self._compiled.search(_encoded(text)) is not None

    def find(self, text: str) -> str:
        """The first match, "" for none."""
        found = self._compiled.search(_encoded(text))
        return "" if found is None else found.group().decode(errors="replace")

    def find_all(self, text: str, most: int = -1) -> list[str]:
        """Raises InvalidExpression where finding all of them takes too long."""
        found: list[str] = []
        text = _encoded(text).decode(errors="replace")
        scanned, end = 0, -1
        for match in self._compiled.finditer(text) if most else ():
            scanned += len(text) - match.start()
            if scanned > _SCANNED_MAX:
                raise InvalidExpression("finding all matches takes too long")
            # Go passes over an empty match right behind another one.
            if match.end() > match.start() or match.start() != end:
                found.append(match.group())
            end = match.end()
            if len(found) == most:
                break
        return found


@lru_cache(maxsize=1024)
def compiled(text: str) -> Expression:
    """Raises InvalidExpression."""
    import re2

    _check_size(text)
    try:
        made = _compiled(text, _MEMORY_BYTES)
    except re2.error as error:
        if not error.args[0].startswith(_TOO_LARGE):
            raise InvalidExpression(_in_gos_words(error.args[0])) from error
        return _compiled_large(text)
    return Expression(made, made.programsize)


def expression_error(text: str) -> str:
    """Why Go does not take an expression, "" if it does."""
    try:
        compiled(text)
    except InvalidExpression as error:
        return str(error)
    return ""


@lru_cache(maxsize=16)
def _compiled_large(text: str) -> Expression:
    import re2

    try:
        made = _compiled(text, _MEMORY_OF_LARGE_BYTES)
    except re2.error as error:
        raise _too_large(text) from error
    return Expression(made, made.programsize)


def _compiled(text: str, memory_bytes: int) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = memory_bytes
    return re2.compile(_encoded(text), options)


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _check_size(text: str) -> None:
    """Refuse what would take RE2 long to compile, before it begins."""
    if len(text) > LENGTH_MAX:
        raise _too_large(text)
    groups: list[tuple[int, int]] = []  # ``atoms`` and ``repeat`` in front of each open group
    atoms = 0  # so far, with repetitions written out
    repeat = 1  # the largest repetition within the innermost group
    last_atoms, last_repeat = 0, 1  # of what a repetition here would repeat
    for token in _TOKEN.finditer(text):
        if group := token["open"]:
            if group == "(" or group[-1] in ":>":
                groups.append((atoms, repeat))
                repeat = 1
        elif token["close"]:
            before, outer = groups.pop() if groups else (0, 1)
            last_atoms, last_repeat, repeat = atoms - before, repeat, max(outer, repeat)
        elif token["byte"]:
            raise InvalidExpression(rf"{_PREFIX}invalid escape sequence: `\C`")
        elif token["least"]:
            times = max(int(token["least"]), int(token["most"] or 0), 1)
            if last_repeat * times > _REPEAT_MAX:
                raise InvalidExpression(f"{_PREFIX}invalid repeat count: `{token[0]}`")
            atoms += last_atoms * (times - 1 + bool(token["comma"]))
            repeat = max(repeat, last_repeat * times)
        elif not token["none"]:
            last_atoms, last_repeat = _atoms(token), 1
            atoms += last_atoms
        if len(groups) >= _DEPTH_MAX:
            raise InvalidExpression(f"{_PREFIX}expression nests too deeply: `{text}`")
        if atoms > _ATOMS_MAX:
            raise _too_large(text)


def _atoms(token: re.Match[str]) -> int:
    quoted, characters = token["quoted"], token["set"]
    if quoted is not None:
        return len(quoted)
    if token["unicode"] or (
        characters and (not characters.isascii() or r"\p" in characters or r"\P" in characters)
    ):
        return _UNICODE_CLASS_ATOMS
    return 1


def _too_large(text: str) -> InvalidExpression:
    return InvalidExpression(f"{_PREFIX}expression too large: `{text}`")


def _in_gos_words(error: bytes) -> str:
    words, _, part = error.decode(errors="replace").partition(": ")
    return f"{_PREFIX}{_WORDS.get(words, words)}: `{part}`"
