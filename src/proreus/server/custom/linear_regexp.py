"""Regular expressions in time linear in the text, for servers without RE2.

Python's parser reads the pattern; the automaton is made deterministic as a text is read, state by
state. What is not regular (references, look-around) Go does not know and is not taken here. What a
hostile pattern can cost is bounded: its size here, and the work per text.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

# The standard library's own module has no public name.
_parser: Any = importlib.import_module("re._parser")
_NODES_MAX = 5_000
_STATES_MAX = 500
_WORK_MAX = 500_000  # nodes looked at for one text: a fraction of a second
_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_CATEGORIES: dict[str, frozenset[str]] = {
    "DIGIT": frozenset("0123456789"),
    "SPACE": frozenset("\t\n\f\r "),
    "WORD": _WORD,
}
Test = Callable[[str], bool]
Surroundings = tuple[str, str]  # the characters before and after a place, "" where the text ends


class TooLaborious(ValueError):
    """The pattern, or this text for it, is too large to be judged without RE2."""


class _Node:
    """``test`` reads a character, ``holds`` looks at a place, neither goes on at once."""

    __slots__ = ("holds", "test", "to")

    def __init__(
        self,
        to: list[_Node],
        test: Test | None = None,
        holds: Callable[[Surroundings], bool] | None = None,
    ) -> None:
        self.to = to
        self.test = test
        self.holds = holds


class _State:
    """Nodes that wait for a character, and where each character leads that came so far."""

    __slots__ = ("is_end", "moves", "readers")

    def __init__(self, readers: tuple[_Node, ...], *, is_end: bool) -> None:
        self.readers = readers
        self.is_end = is_end
        self.moves: dict[str, tuple[_Node, ...]] = {}


class LinearPattern:
    """Raises TooLaborious, and re.error for what is no pattern."""

    def __init__(self, text: str) -> None:
        tree = _parser.parse(text, re.ASCII)
        self._end = _Node([])
        builder = _Builder()
        self._start = builder.sequence(tree, tree.state.flags, self._end)
        self._looks_around = builder.looks_around
        self._states: dict[tuple[frozenset[_Node], Surroundings], _State] = {}
        self._work = 0

    def is_found(self, text: str) -> bool:
        """Whether it matches anywhere. Raises TooLaborious."""
        self._work = 0
        nodes: tuple[_Node, ...] = ()
        for index in range(len(text) + 1):
            state = self._state(nodes, self._around(text, index))
            if state.is_end:
                return True
            if index < len(text):
                nodes = self._moved(state, text[index])
        return False

    def _around(self, text: str, index: int) -> Surroundings:
        if not self._looks_around:
            return ("", "")
        return text[index - 1 : index] if index else "", text[index : index + 1]

    def _state(self, nodes: tuple[_Node, ...], around: Surroundings) -> _State:
        key = frozenset(nodes), around
        found = self._states.get(key)
        if found is None:
            if len(self._states) >= _STATES_MAX:
                self._states.clear()
            found = self._states[key] = self._closed(nodes, around)
        return found

    def _closed(self, nodes: tuple[_Node, ...], around: Surroundings) -> _State:
        """Everything that is reached without reading; a match may begin at every place."""
        seen: dict[_Node, None] = {}
        waiting = [*nodes, self._start]
        while waiting:
            node = waiting.pop()
            if node not in seen and (node.holds is None or node.holds(around)):
                seen[node] = None
                if node.test is None:
                    waiting += node.to
        self._count(len(seen))
        readers = tuple(node for node in seen if node.test is not None)
        return _State(readers, is_end=self._end in seen)

    def _moved(self, state: _State, char: str) -> tuple[_Node, ...]:
        found = state.moves.get(char)
        if found is None:
            self._count(len(state.readers))
            readers = (node for node in state.readers if node.test is not None and node.test(char))
            found = state.moves[char] = tuple(target for node in readers for target in node.to)
        return found

    def _count(self, work: int) -> None:
        self._work += work
        if self._work > _WORK_MAX:
            raise TooLaborious("the pattern takes too long on this text")


class _Builder:
    """Nodes from the end to the beginning: each knows what comes after it."""

    def __init__(self) -> None:
        self._nodes = 0
        self.looks_around = False

    def sequence(self, parts: Any, flags: int, after: _Node) -> _Node:
        for operation, argument in reversed(list(parts)):
            after = self._part(str(operation), argument, flags, after)
        return after

    def _node(self, to: list[_Node], **more: Any) -> _Node:
        self._nodes += 1
        if self._nodes > _NODES_MAX:
            raise TooLaborious("the pattern is too large")
        return _Node(to, **more)

    def _part(self, operation: str, argument: Any, flags: int, after: _Node) -> _Node:
        match operation:
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                return self._node([after], test=_reader(operation, argument, flags))
            case "AT":
                self.looks_around = True
                return self._node([after], holds=_place(str(argument), flags))
            case "BRANCH":
                options = [self.sequence(option, flags, after) for option in argument[1]]
                return self._node(options)
            case "SUBPATTERN":
                _, added, removed, inner = argument
                return self.sequence(inner, (flags | added) & ~removed, after)
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self._repeated(argument, flags, after)
            case _:
                raise re.error(f"{operation} is not supported")

    def _repeated(self, argument: Any, flags: int, after: _Node) -> _Node:
        least, most, inner = argument
        if most is _parser.MAXREPEAT:
            again = self._node([])
            again.to += [self.sequence(inner, flags, again), after]
            start = again
        else:
            start = after
            for _ in range(most - least):
                start = self._node([self.sequence(inner, flags, start), after])
        for _ in range(least):
            start = self.sequence(inner, flags, start)
        return start


def _reader(operation: str, argument: Any, flags: int) -> Test:
    match operation:
        case "ANY":
            takes_lines = bool(flags & re.DOTALL)
            return lambda char: takes_lines or char != "\n"
        case "LITERAL":
            test = _one(chr(argument))
        case "NOT_LITERAL":
            only = _one(chr(argument))
            return lambda char: not (only(char) or (_folds(flags) and only(char.swapcase())))
        case _:
            return _class(argument, flags)
    if _folds(flags):
        return lambda char: test(char) or test(char.swapcase())
    return test


def _folds(flags: int) -> bool:
    return bool(flags & re.IGNORECASE)


def _one(wanted: str) -> Test:
    return lambda char: char == wanted


def _class(items: Any, flags: int) -> Test:
    is_negated, tests = False, []
    for operation, argument in items:
        match str(operation):
            case "NEGATE":
                is_negated = True
            case "LITERAL":
                tests.append(_one(chr(argument)))
            case "RANGE":
                tests.append(_range(*argument))
            case _:
                tests.append(_category(str(argument).removeprefix("CATEGORY_")))

    def test(char: str) -> bool:
        return any(one(char) for one in tests)

    folds = _folds(flags)
    return lambda char: (test(char) or (folds and test(char.swapcase()))) is not is_negated


def _range(first: int, last: int) -> Test:
    return lambda char: first <= ord(char) <= last


def _category(name: str) -> Test:
    characters = _CATEGORIES[name.removeprefix("NOT_")]
    is_in = not name.startswith("NOT_")
    return lambda char: (char in characters) is is_in


def _place(name: str, flags: int) -> Callable[[Surroundings], bool]:
    lines = bool(flags & re.MULTILINE)
    match name:
        case "AT_BEGINNING":
            return lambda around: not around[0] or (lines and around[0] == "\n")
        case "AT_BEGINNING_STRING":
            return lambda around: not around[0]
        case "AT_END":
            return lambda around: not around[1] or (lines and around[1] == "\n")
        case "AT_END_STRING":
            return lambda around: not around[1]
        case "AT_BOUNDARY":
            return lambda around: (around[0] in _WORD) is not (around[1] in _WORD)
        case _:
            return lambda around: (around[0] in _WORD) is (around[1] in _WORD)
