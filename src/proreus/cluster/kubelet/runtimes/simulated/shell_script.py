"""Interprets a simulated container's command, if it is a simple shell script. Pure.

    sleep N…   exit [N]   true   false   :   echo [-n] …   test …   [ … ]
    expr …     [[ … ]]    env    printenv [NAME…]   id [-u|-g|-G]
    sh -c "…"  with  ;  newlines  &&  ||  quotes  $NAME  ${NAME}  $?  $((…))  $(…)  >&2  NAME=value
               if …; then …; elif …; then …; else …; fi

The result depends on the variables and the user alone, so a command is interpreted as a whole
before it starts: how long it runs, what it prints when, and how it exits. A command that uses
anything else is not interpreted at all (``None``).
"""

from __future__ import annotations

import contextlib
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from proreus.cluster.kubelet.runtimes.simulated.shell_arithmetic import evaluate
from proreus.cluster.kubelet.runtimes.simulated.shell_grammar import (
    Conditional,
    Script,
    parse_script,
)
from proreus.cluster.kubelet.runtimes.simulated.shell_syntax import (
    ASSIGNMENT,
    NUMBER,
    Arithmetic,
    Piece,
    SimpleCommand,
    Substitution,
    Text,
    UnsupportedSyntax,
    Variable,
    Word,
)

_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_PROGRAM_FOLDERS = ("/bin/", "/usr/bin/")
_PROGRAMS = frozenset({"true", "false", "sleep", "echo", "test", "expr", "env", "printenv", "id"})
_UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SECONDS = re.compile(r"(\d{1,12}(?:\.\d{0,9})?|\.\d{1,9})([smhd]?)", re.ASCII)
_SPLITS = re.compile(r"[\s*?\[]")
_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq, "-ne": operator.ne, "-lt": operator.lt,
    "-le": operator.le, "-gt": operator.gt, "-ge": operator.ge,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """Printed ``at_s`` seconds after the start; ``text`` has its newline, if it has one."""

    at_s: float
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """``runs_s`` None: it does not end by itself."""

    runs_s: float | None
    exit_code: int
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class UnixUser:
    """``groups``: beside ``gid``."""

    uid: int = 0
    gid: int = 0
    groups: tuple[int, ...] = ()


ROOT = UnixUser()


class VariablesWanted(Exception):
    """What it does depends on variables that are not known yet."""


def interpret(
    arguments: Sequence[str],
    variables: Mapping[str, str],
    user: UnixUser = ROOT,
    *,
    are_all_known: bool = True,
) -> ScriptResult | None:
    """None: unsupported. Raises ``VariablesWanted`` if there are more than ``variables``."""
    run = _Run(dict(variables), user, are_all_known)
    try:
        match arguments:
            case [shell, "-c", script] if _name(shell) in _SHELLS:
                run.script(parse_script(script))
            case [_, *_]:
                run.command([_name(arguments[0]), *arguments[1:]], is_error=False)
            case _:
                return None
    except UnsupportedSyntax:
        return None
    except _Ended:
        pass
    return ScriptResult(run.elapsed_s, run.code, tuple(run.lines))


class _Ended(Exception):
    """``exit``, or a sleep without end."""


@dataclass(slots=True)
class _Run:
    """``exported``: the names of those variables that commands see."""

    variables: dict[str, str]
    user: UnixUser
    are_all_known: bool
    exported: set[str] = field(init=False)
    elapsed_s: float | None = 0.0
    code: int = 0
    lines: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.exported = set(self.variables)

    def script(self, steps: Script) -> None:
        for step in steps:
            if (step.after == "&&" and self.code != 0) or (step.after == "||" and self.code == 0):
                continue
            match step:
                case SimpleCommand():
                    self._simple(step)
                case Conditional():
                    self._choose(step)
                case _:
                    assert_never(step)

    def _simple(self, step: SimpleCommand) -> None:
        """Assignments before a command hold for that command alone."""
        count = next((n for n, word in enumerate(step.words) if not _assigned(word)), None)
        assignments = step.words[:count]
        words = self._expand_words(step.words[len(assignments) :])
        if not assignments:
            self.command(words, step.is_error)
            return
        if words[:1] == [":"] or (step.is_error and not words):
            raise UnsupportedSyntax  # shells differ
        variables, exported = self.variables, self.exported
        self.variables = dict(variables)
        for word in assignments:
            self.variables[_assigned(word)] = self._assigned_value(word)
        if not words:
            self.code = 0
            return
        self.exported = exported | {_assigned(word) for word in assignments}
        self.command(words, step.is_error)
        self.variables, self.exported = variables, exported

    def _assigned_value(self, word: Word) -> str:
        if any(isinstance(piece, Substitution) for piece in word):
            raise UnsupportedSyntax  # its exit code would count
        return "".join(self._value(piece) for piece in word).partition("=")[2]

    def _choose(self, conditional: Conditional) -> None:
        for branch in conditional.branches:
            self.script(branch.condition)
            if self.code == 0:
                self.script(branch.body)
                return
        self.code = 0
        self.script(conditional.otherwise)

    def command(self, words: Sequence[str], is_error: bool) -> None:
        if not words:
            raise UnsupportedSyntax
        name, arguments = _program(words[0]), list(words[1:])
        match name:
            case "true" | ":":
                self.code = 0
            case "false":
                self.code = 1
            case "exit":
                self._exit(arguments)
            case "sleep":
                self._sleep(arguments)
            case "echo":
                self._echo(arguments, is_error)
            case "exec" if arguments and _name(arguments[0]) not in ("exec", "exit"):
                self.command(arguments, is_error)
                raise _Ended
            case "test":
                self.code = 0 if _holds(arguments) else 1
            case "[" | "[[" if arguments and arguments[-1] == "]" * len(name):
                self.code = 0 if _holds(arguments[:-1]) else 1
            case "expr" if arguments:
                value = evaluate(arguments)
                self._echo([str(value)], is_error)
                self.code = 0 if value else 1
            case "env" | "printenv":
                self._print_variables(name, arguments, is_error)
            case "id":
                self._echo([_identity(self.user, arguments)], is_error)
            case _:
                raise UnsupportedSyntax

    def _print_variables(self, program: str, names: Sequence[str], is_error: bool) -> None:
        if program == "env" and names:
            raise UnsupportedSyntax  # it runs a program
        if not self.are_all_known:
            raise VariablesWanted
        if names:
            shown = [self.variables[name] for name in names if name in self.exported]
        else:
            shown = [f"{name}={self.variables[name]}" for name in sorted(self.exported)]
        for line in shown:
            self._print(line + "\n", is_error)
        self.code = 0 if len(shown) >= len(names) else 1

    def _exit(self, arguments: Sequence[str]) -> None:
        if len(arguments) > 1 or (arguments and not NUMBER.fullmatch(arguments[0])):
            raise UnsupportedSyntax
        self.code = int(arguments[0]) % 256 if arguments else self.code
        raise _Ended

    def _sleep(self, arguments: Sequence[str]) -> None:
        if not arguments:
            raise UnsupportedSyntax
        for said in arguments:
            if said in ("infinity", "inf"):
                self.elapsed_s = None
                raise _Ended
            found = _SECONDS.fullmatch(said)
            if found is None or self.elapsed_s is None:
                raise UnsupportedSyntax
            self.elapsed_s += float(found[1]) * _UNITS_S[found[2]]
        self.code = 0

    def _echo(self, arguments: list[str], is_error: bool) -> None:
        ending = "\n"
        if arguments and arguments[0] == "-n":
            arguments, ending = arguments[1:], ""
        if arguments and re.fullmatch(r"-[neE]+", arguments[0]):
            raise UnsupportedSyntax  # what it means depends on the shell
        self._print(" ".join(arguments) + ending, is_error)
        self.code = 0

    def _print(self, text: str, is_error: bool) -> None:
        assert self.elapsed_s is not None, "it has not ended"
        self.lines.append(Line(self.elapsed_s, text, is_error))

    def _expand_words(self, words: Sequence[Word]) -> list[str]:
        return [made for word in words if (made := self._expand(word)) is not None]

    def _expand(self, word: Word) -> str | None:
        """None: an unquoted word of nothing but empty variables is no word."""
        made = ""
        for piece in word:
            value = self._value(piece)
            if not (isinstance(piece, Text) or piece.is_quoted) and _SPLITS.search(value):
                raise UnsupportedSyntax  # it would become several words, or names of files
            made += value
        return made if made or any(piece.is_quoted for piece in word) else None

    def _value(self, piece: Piece) -> str:
        match piece:
            case Text(text):
                return text
            case Variable("?"):
                return str(self.code)
            case Variable(name):
                if name not in self.variables and not self.are_all_known:
                    raise VariablesWanted
                return self.variables.get(name, "")
            case Arithmetic(tokens):
                # A variable that is not set counts as 0.
                return str(evaluate([self._value(token) or "0" for token in tokens]))
            case Substitution(words):
                return self._substitute(words)
            case _:
                assert_never(piece)

    def _substitute(self, words: Sequence[Word]) -> str:
        inner = _Run(dict(self.variables), self.user, self.are_all_known, code=self.code)
        inner.exported = self.exported
        with contextlib.suppress(_Ended):
            inner.command(self._expand_words(words), is_error=False)
        if inner.elapsed_s != 0 or any(line.is_error for line in inner.lines):
            raise UnsupportedSyntax
        return "".join(line.text for line in inner.lines).rstrip("\n")


def _assigned(word: Word) -> str:
    """The name in ``NAME=value``, if a word is that."""
    first = word[0]
    found = (
        ASSIGNMENT.match(first.text) if isinstance(first, Text) and not first.is_quoted else None
    )
    return found[1] if found else ""


def _holds(arguments: Sequence[str]) -> bool:
    """Of ``test``."""
    match arguments:
        case []:
            return False
        case [text]:
            return bool(text)
        case ["!", *rest] if rest:
            return not _holds(rest)
        case ["-n", text]:
            return bool(text)
        case ["-z", text]:
            return not text
        case [one, "=" | "==", other]:
            return one == other
        case [one, "!=", other]:
            return one != other
        case [one, comparison, other] if comparison in _COMPARISONS:
            if not (NUMBER.fullmatch(one) and NUMBER.fullmatch(other)):
                raise UnsupportedSyntax
            return _COMPARISONS[comparison](int(one), int(other))
        case _:
            raise UnsupportedSyntax


def _identity(user: UnixUser, arguments: Sequence[str]) -> str:
    """Of ``id``. Without files there are no names but root's."""
    groups = [user.gid, *(group for group in user.groups if group != user.gid)]
    match arguments:
        case []:
            uid, gid = _with_name(user.uid), _with_name(user.gid)
            return f"uid={uid} gid={gid} groups={','.join(map(_with_name, groups))}"
        case ["-u"]:
            return str(user.uid)
        case ["-g"]:
            return str(user.gid)
        case ["-G"]:
            return " ".join(map(str, groups))
        case _:
            raise UnsupportedSyntax


def _with_name(number: int) -> str:
    return str(number) if number else "0(root)"


def _program(said: str) -> str:
    """``/bin/echo`` is ``echo``; what a shell has built in lies in no folder."""
    for folder in _PROGRAM_FOLDERS:
        if said.removeprefix(folder) in _PROGRAMS:
            return said.removeprefix(folder)
    return said


def _name(program: str) -> str:
    """``/bin/sleep`` is ``sleep``."""
    return program.rpartition("/")[2]
