"""Groups the simple commands of a script into conditionals. Pure.

if A; then B; elif C; then D; else E; fi
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from proreus.cluster.kubelet.runtimes.simulated.shell_syntax import (
    After,
    SimpleCommand,
    Text,
    UnsupportedSyntax,
    parse,
)

_DEPTH_MAX = 20
_FIRST: tuple[After, ...] = ("", ";")
_BETWEEN: tuple[After, ...] = (";", "&&", "||")
_KEYWORDS = {(Text(word),): word for word in ("if", "then", "elif", "else", "fi")}


@dataclass(frozen=True, slots=True)
class Branch:
    condition: Script
    body: Script


@dataclass(frozen=True, slots=True)
class Conditional:
    """The body of the first branch whose condition succeeds, else ``otherwise``."""

    after: After
    branches: tuple[Branch, ...]
    otherwise: Script = ()


Step: TypeAlias = SimpleCommand | Conditional
Script: TypeAlias = tuple[Step, ...]


def parse_script(text: str) -> Script:
    """Raises ``UnsupportedSyntax``."""
    reader = _Reader(_split_keywords(parse(text)))
    found = reader.script(depth=0)
    if reader.at != len(reader.parts):
        raise UnsupportedSyntax  # a keyword that ends nothing
    return found


@dataclass(frozen=True, slots=True)
class _Keyword:
    after: After
    word: str


@dataclass(slots=True)
class _Reader:
    parts: Sequence[SimpleCommand | _Keyword]
    at: int = 0

    def script(self, *, depth: int) -> Script:
        """Up to the keyword that ends it."""
        found: list[Step] = []
        while self.at < len(self.parts):
            part = self.parts[self.at]
            if isinstance(part, _Keyword) and part.word != "if":
                break
            if part.after not in (_BETWEEN if found else _FIRST) or depth > _DEPTH_MAX:
                raise UnsupportedSyntax
            self.at += 1
            if isinstance(part, _Keyword):
                found.append(self._conditional(part.after, depth + 1))
            else:
                found.append(part)
        return tuple(found)

    def _conditional(self, after: After, depth: int) -> Conditional:
        branches = [self._branch(depth)]
        otherwise: Script = ()
        keyword = self._keyword("elif", "else", "fi")
        while keyword == "elif":
            branches.append(self._branch(depth))
            keyword = self._keyword("elif", "else", "fi")
        if keyword == "else":
            otherwise = self._body(depth)
            self._keyword("fi")
        return Conditional(after, tuple(branches), otherwise)

    def _branch(self, depth: int) -> Branch:
        condition = self._body(depth)
        self._keyword("then")
        return Branch(condition, self._body(depth))

    def _body(self, depth: int) -> Script:
        found = self.script(depth=depth)
        if not found:
            raise UnsupportedSyntax
        return found

    def _keyword(self, *expected: str) -> str:
        part = self.parts[self.at] if self.at < len(self.parts) else None
        if not isinstance(part, _Keyword) or part.word not in expected or part.after != ";":
            raise UnsupportedSyntax
        self.at += 1
        return part.word


def _split_keywords(commands: Sequence[SimpleCommand]) -> list[SimpleCommand | _Keyword]:
    """A keyword counts as one where a command may begin: first, or behind another keyword."""
    found: list[SimpleCommand | _Keyword] = []
    for command in commands:
        after, words = command.after, command.words
        while words and words[0] in _KEYWORDS:
            found.append(_Keyword(after, _KEYWORDS[words[0]]))
            after, words = "", words[1:]
        if words:
            found.append(replace(command, after=after, words=words))
        elif command.is_redirected:
            raise UnsupportedSyntax  # a redirection of more than a simple command
    return found
