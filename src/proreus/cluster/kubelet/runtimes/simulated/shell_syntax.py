"""Parses a shell script into simple commands and the operators between them. Pure.

Supported: quotes, variables, ``;``, newlines, ``&&``, ``||``,
comments and ``>&2``. Everything else (pipes, redirections, substitutions, loops, file patterns)
raises ``UnsupportedSyntax``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

After = Literal["", ";", "&&", "||"]
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*|\?))")
_TO_STDERR = re.compile(r"1?>&2(?![^\s;&|])")
_PLAIN = re.compile(r"[A-Za-z0-9_./:=,+%@^#\-]+")
_ESCAPED_IN_QUOTES = '"\\$`'


class UnsupportedSyntax(Exception):
    """It uses something that is not simulated."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Of a word: its text, or the name of the variable whose value it is."""

    text: str
    is_variable: bool = False
    is_quoted: bool = False


Word = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A simple command. ``after`` connects it to the one before."""

    after: After
    words: tuple[Word, ...]
    is_error: bool = False


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
        else:
            self._word()

    def _end(self, after: After, *, is_newline: bool = False) -> None:
        """Of a command, whatever it consists of."""
        if self.words:
            self.found.append(SimpleCommand(self.after, tuple(self.words), self.is_error))
            self.words, self.is_error, self.after = [], False, after
        elif self.is_error or not is_newline:
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
                return [Piece(quoted, is_quoted=True)]
            case '"':
                return self._in_quotes()
            case "$":
                return [self._variable(is_quoted=False)]
            case "\\" if self.at + 1 < len(self.text):
                self.at += 2
                return [Piece(self.text[self.at - 1], is_quoted=True)]
            case "[" | "]" | "!" as single if self._stands_alone():
                self.at += 1
                return [Piece(single)]
        found = _PLAIN.match(self.text, self.at)
        if found is None:
            raise UnsupportedSyntax
        self.at = found.end()
        return [Piece(found[0])]

    def _stands_alone(self) -> bool:
        before, after = self.text[self.at - 1 : self.at], self.text[self.at + 1 : self.at + 2]
        return before in ("", " ", "\t", "\n", ";") and after in ("", " ", "\t", "\n", ";")

    def _in_quotes(self) -> list[Piece]:
        pieces = [Piece("", is_quoted=True)]
        self.at += 1
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == '"':
                self.at += 1
                return pieces
            if character == "$":
                pieces.append(self._variable(is_quoted=True))
                continue
            if character == "`":
                raise UnsupportedSyntax
            if character == "\\" and self.text[self.at + 1 : self.at + 2] in _ESCAPED_IN_QUOTES:
                self.at += 1
                character = self.text[self.at : self.at + 1]
            pieces.append(Piece(character, is_quoted=True))
            self.at += 1
        raise UnsupportedSyntax  # the quote does not end

    def _variable(self, *, is_quoted: bool) -> Piece:
        found = _VARIABLE.match(self.text, self.at)
        if found is None:
            raise UnsupportedSyntax
        self.at = found.end()
        return Piece(found[1] or found[2], is_variable=True, is_quoted=is_quoted)
