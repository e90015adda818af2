"""Parses a shell script into words, simple commands and the operators between them. Pure.

Supported: quotes, variables, ``$((…))``, ``$(…)`` around one simple command, ``;``, newlines,
``&&``, ``||``, comments, ``>&2``, ``>`` and ``>>``. Everything else (pipes, loops, file patterns)
raises ``UnsupportedSyntax``. ``shell_grammar`` makes conditionals of the simple commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

After = Literal["", ";", "&&", "||"]
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*|\?))")
_TO_STDERR = re.compile(r"1?>&2(?![^\s;&|])")
_TO_FILE = re.compile(r"1?(>>?)[ \t]*(?=[^\s;&|<>()])")
_PLAIN = re.compile(r"[A-Za-z0-9_./:=,+%@^#\-]+")
_ARITHMETIC = re.compile(
    r"\s*(?:(?P<number>[0-9]+)|\$?(?P<name>[A-Za-z_][A-Za-z0-9_]*)|\$\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)\}"
    r"|(?P<sign><=|>=|==|!=|[-+*/%()<>]))\s*"
)
_ESCAPED_IN_QUOTES = '"\\$`'
_SUBSTITUTION_LENGTH_MAX = 1000
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
NUMBER = re.compile(r"[+-]?\d{1,18}", re.ASCII)


class UnsupportedSyntax(Exception):
    """It uses something that is not simulated."""


@dataclass(frozen=True, slots=True)
class Text:
    """As it is."""

    text: str
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """Its value; ``?`` is the last exit code."""

    name: str
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``$((…))``: numbers, operators and variables, one after the other."""

    tokens: tuple[Text | Variable, ...]
    is_quoted: bool = False


@dataclass(frozen=True, slots=True)
class Substitution:
    """``$(…)``: what a simple command prints."""

    words: tuple[Word, ...]
    is_quoted: bool = False


Piece: TypeAlias = Text | Variable | Arithmetic | Substitution
Word: TypeAlias = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A simple command. ``after`` connects it to the one before; ``target``: the file that what it
    prints goes to."""

    after: After
    words: tuple[Word, ...]
    is_error: bool = False
    target: Word | None = None
    appends: bool = False

    @property
    def is_redirected(self) -> bool:
        return self.is_error or self.target is not None


def parse(text: str) -> list[SimpleCommand]:
    """Raises ``UnsupportedSyntax``."""
    return _Parser(text).commands()


@dataclass(slots=True)
class _Parser:
    text: str
    at: int = 0
    found: list[SimpleCommand] = field(default_factory=list)
    after: After = ""
    words: list[Word] = field(default_factory=list)
    is_error: bool = False
    target: Word | None = None
    appends: bool = False

    def commands(self) -> list[SimpleCommand]:
        while self.at < len(self.text):
            self._next()
        self._end(";", is_newline=True)
        if self.after in ("&&", "||"):
            raise UnsupportedSyntax
        return self.found

    def _next(self) -> None:
        rest = self.text[self.at : self.at + 2]
        if rest in ("&&", "||"):
            self.at += 2
            self._end("&&" if rest == "&&" else "||")
        elif rest[0] in ";\n":
            self.at += 1
            self._end(";", is_newline=rest[0] == "\n")
        elif rest[0] in " \t" or rest == "\\\n":
            self.at += 1 if rest[0] in " \t" else 2
        elif rest[0] == "#":
            end = self.text.find("\n", self.at)
            self.at = end if end >= 0 else len(self.text)
        elif found := _TO_STDERR.match(self.text, self.at):
            self.at = found.end()
            self.is_error = True
        elif found := _TO_FILE.match(self.text, self.at):
            self.at, self.appends = found.end(), found[1] == ">>"
            if self.target is not None:
                raise UnsupportedSyntax
            self._word()
            self.target = self.words.pop()
        else:
            self._word()

    def _end(self, after: After, *, is_newline: bool = False) -> None:
        """Of a command, whatever it consists of."""
        if self.is_error and self.target is not None:
            raise UnsupportedSyntax
        if self.words:
            words, target = tuple(self.words), self.target
            made = SimpleCommand(self.after, words, self.is_error, target, self.appends)
            self.found.append(made)
            self.words, self.is_error, self.after = [], False, after
            self.target, self.appends = None, False
        elif self.is_error or self.target is not None or not is_newline:
            raise UnsupportedSyntax  # nothing between two operators

    def _word(self) -> None:
        pieces: list[Piece] = []
        while self.at < len(self.text) and self.text[self.at] not in " \t\n;":
            if self.text.startswith(("&&", "||"), self.at) or self.text.startswith("\\\n", self.at):
                break
            pieces += self._pieces()
        self.words.append(tuple(pieces))

    def _pieces(self) -> list[Piece]:
        match self.text[self.at]:
            case "'":
                end = self.text.find("'", self.at + 1)
                if end < 0:
                    raise UnsupportedSyntax
                quoted, self.at = self.text[self.at + 1 : end], end + 1
                return [Text(quoted, is_quoted=True)]
            case '"':
                return self._in_quotes()
            case "$":
                return [self._expansion(is_quoted=False)]
            case "\\" if self.at + 1 < len(self.text):
                self.at += 2
                return [Text(self.text[self.at - 1], is_quoted=True)]
            case "[" | "]" | "!" as single if self._stands_alone(single):
                self.at += 1
                return [Text(single)]
            case "[" | "]" as single if self._stands_alone(single * 2):
                self.at += 2
                return [Text(single * 2)]
            case "!" if self._stands_alone("!="):
                self.at += 2
                return [Text("!=")]
        found = _PLAIN.match(self.text, self.at)
        if found is None:
            raise UnsupportedSyntax
        self.at = found.end()
        return [Text(found[0])]

    def _stands_alone(self, word: str) -> bool:
        if not self.text.startswith(word, self.at):
            return False
        end = self.at + len(word)
        before, after = self.text[max(self.at - 1, 0) : self.at], self.text[end : end + 1]
        return before in ("", " ", "\t", "\n", ";") and after in ("", " ", "\t", "\n", ";")

    def _in_quotes(self) -> list[Piece]:
        pieces: list[Piece] = [Text("", is_quoted=True)]
        self.at += 1
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == '"':
                self.at += 1
                return pieces
            if character == "$":
                pieces.append(self._expansion(is_quoted=True))
                continue
            if character == "`":
                raise UnsupportedSyntax
            if character == "\\" and self.text[self.at + 1 : self.at + 2] in _ESCAPED_IN_QUOTES:
                self.at += 1
                character = self.text[self.at : self.at + 1]
            pieces.append(Text(character, is_quoted=True))
            self.at += 1
        raise UnsupportedSyntax  # the quote does not end

    def _expansion(self, *, is_quoted: bool) -> Piece:
        if self.text.startswith("$((", self.at):
            end = self.text.find("))", self.at)
            content, self.at = self._between(self.at + 3, end), end + 2
            return Arithmetic(tuple(_arithmetic_tokens(content)), is_quoted)
        if self.text.startswith("$(", self.at):
            end = self.text.find(")", self.at)
            content, self.at = self._between(self.at + 2, end), end + 1
            match parse(content):
                case [SimpleCommand(words=words, is_redirected=False)]:
                    return Substitution(words, is_quoted)
            raise UnsupportedSyntax
        found = _VARIABLE.match(self.text, self.at)
        if found is None:
            raise UnsupportedSyntax
        self.at = found.end()
        return Variable(found[1] or found[2], is_quoted)

    def _between(self, start: int, end: int) -> str:
        """Without quotes and substitutions, so that its end is where it seems to be."""
        content = self.text[start : max(end, start)]
        if end < 0 or len(content) > _SUBSTITUTION_LENGTH_MAX or "$(" in content:
            raise UnsupportedSyntax
        if "'" in content or '"' in content or "\n" in content:
            raise UnsupportedSyntax
        return content


def _arithmetic_tokens(content: str) -> Iterator[Text | Variable]:
    at = 0
    while at < len(content):
        found = _ARITHMETIC.match(content, at)
        if found is None:
            raise UnsupportedSyntax
        at = found.end()
        name = found["name"] or found["braced"]
        yield Variable(name) if name else Text(found["number"] or found["sign"])
