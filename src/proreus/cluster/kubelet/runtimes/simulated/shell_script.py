"""Interprets a simulated container's command, if it is a simple shell script. Pure.

    sleep N…   exit [N]   true   false   :   echo [-n] …   test …   [ … ]
    expr …     [[ … ]]    env    printenv [NAME…]   id [-u|-g|-G]
    cat FILE…  touch FILE…  rm [-rf] FILE…          of files that it has written itself
    ! COMMAND  tail -f /dev/null
    sh -c "…"  with  ;  newlines  &&  ||  quotes  $NAME  ${NAME}  $?  $((…))  $(…)  NAME=value
               >&2  > FILE  >> FILE
               if …; then …; elif …; then …; else …; fi

The result depends on the variables and the place alone, so a command is interpreted as a whole
before it starts: how long it runs, what it prints when, and how it exits. A command that uses
anything else is not interpreted at all (``None``).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from proreus.cluster.kubelet.runtimes.simulated.shell_arithmetic import evaluate
from proreus.cluster.kubelet.runtimes.simulated.shell_budget import ScriptBudget
from proreus.cluster.kubelet.runtimes.simulated.shell_files import ContainerPlace, ShellFiles
from proreus.cluster.kubelet.runtimes.simulated.shell_grammar import (
    Conditional,
    Script,
    parse_script,
)
from proreus.cluster.kubelet.runtimes.simulated.shell_programs import (
    file_name,
    holds,
    identity,
    program_name,
)
from proreus.cluster.kubelet.runtimes.simulated.shell_result import Line, ScriptResult
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
_REMOVING = frozenset({"-f", "-r", "-rf", "-fr"})
_NOWHERE = "/dev/null"
_NO_FILE = "No such file or directory"
_UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SECONDS = re.compile(r"(\d{1,12}(?:\.\d{0,9})?|\.\d{1,9})([smhd]?)", re.ASCII)
_SPLITS = re.compile(r"[\s*?\[]")


DEFAULT_PLACE = ContainerPlace()


class VariablesWanted(Exception):
    """What it does depends on variables that are not known yet."""


def interpret(
    arguments: Sequence[str],
    variables: Mapping[str, str],
    place: ContainerPlace = DEFAULT_PLACE,
    *,
    are_all_known: bool = True,
    files: Mapping[str, str | None] | None = None,
) -> ScriptResult | None:
    """None: unsupported. ``files``: what is known of them. Raises ``VariablesWanted`` if there are
    more than ``variables``."""
    shell = arguments[0] if arguments else ""
    run = _Run(dict(variables), shell, ShellFiles(place, dict(files or {})), are_all_known)
    try:
        match arguments:
            case [shell, "-c", script] if file_name(shell) in _SHELLS:
                run.script(parse_script(script))
            case [_, *_]:
                run.command([file_name(arguments[0]), *arguments[1:]], is_error=False)
            case _:
                return None
    except UnsupportedSyntax:
        return None
    except _Ended:
        pass
    return ScriptResult(run.elapsed_s, run.code, tuple(run.lines), tuple(run.files.changes))


@dataclass(frozen=True, slots=True)
class _Captured:
    """What a command printed, until when, and whether the script ended with it."""

    text: str
    at_s: float
    has_ended: bool


class _Ended(Exception):
    """``exit``, or a sleep without end."""


@dataclass(slots=True)
class _Run:
    """``exported``: the names of those variables that commands see."""

    variables: dict[str, str]
    shell: str
    files: ShellFiles
    are_all_known: bool
    exported: set[str] = field(init=False)
    elapsed_s: float | None = 0.0
    code: int = 0
    lines: list[Line] = field(default_factory=list)
    budget: ScriptBudget = field(default_factory=ScriptBudget)

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
            self._redirect(words, step)
            return
        if words[:1] == [":"] or (step.is_redirected and not words):
            raise UnsupportedSyntax  # shells differ
        variables, exported = self.variables, self.exported
        if words:
            self.budget.spend(len(variables))
            self.variables = dict(variables)
        for word in assignments:
            self.variables[_assigned(word)] = self._assigned_value(word)
        if not words:
            self.code = 0
            return
        self.exported = exported | {_assigned(word) for word in assignments}
        self._redirect(words, step)
        self.variables, self.exported = variables, exported

    def _redirect(self, words: Sequence[str], step: SimpleCommand) -> None:
        """What it prints goes to a file, if the command says so."""
        target = self._expand(step.target) if step.target is not None else None
        if step.target is None:
            self.command(words, step.is_error)
        elif not target:
            raise UnsupportedSyntax
        elif target != _NOWHERE and (why := self.files.refusal(target)):
            self._print(f"{self.shell}: can't create {target}: {why}\n", is_error=True)
            self.code = 1
        else:
            self._write(target, words, appends=step.appends)

    def _write(self, target: str, words: Sequence[str], *, appends: bool) -> None:
        before = (self.files.read(target) or "") if appends and target != _NOWHERE else ""
        if target != _NOWHERE:
            self.files.write(target, before, self._now_s)
        captured = self._capture(words)
        if captured.text and target != _NOWHERE:
            self.files.write(target, before + captured.text, captured.at_s)
        if captured.has_ended:
            raise _Ended

    def _capture(self, words: Sequence[str]) -> _Captured:
        begin, has_ended = len(self.lines), False
        try:
            self.command(words, is_error=False)
        except _Ended:
            has_ended = True
        printed = [line for line in self.lines[begin:] if not line.is_error]
        self.lines[begin:] = [line for line in self.lines[begin:] if line.is_error]
        at_s = printed[-1].at_s if printed else 0.0
        return _Captured("".join(line.text for line in printed), at_s, has_ended)

    @property
    def _now_s(self) -> float:
        assert self.elapsed_s is not None, "it has not ended"
        return self.elapsed_s

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
        name, arguments = program_name(words[0]), list(words[1:])
        match name:
            case "true" | ":":
                self.code = 0
            case "false":
                self.code = 1
            case "!" if arguments and arguments[0] != "!":
                self.command(arguments, is_error)
                self.code = int(not self.code)
            case "tail" if arguments in (["-f", _NOWHERE], ["-F", _NOWHERE]):
                self._sleep(["infinity"])
            case "exit":
                self._exit(arguments)
            case "sleep":
                self._sleep(arguments)
            case "echo":
                self._echo(arguments, is_error)
            case "exec" if arguments and file_name(arguments[0]) not in ("exec", "exit"):
                self.command(arguments, is_error)
                raise _Ended
            case "test":
                self.code = 0 if self._test(arguments) else 1
            case "[" | "[[" if arguments and arguments[-1] == "]" * len(name):
                self.code = 0 if self._test(arguments[:-1]) else 1
            case "expr" if arguments:
                value = evaluate(arguments)
                self._echo([str(value)], is_error)
                self.code = 0 if value else 1
            case "env" | "printenv":
                self._print_variables(name, arguments, is_error)
            case "id":
                self._echo([identity(self.files.place.user, arguments)], is_error)
            case "cat" | "touch" | "rm" if arguments:
                self._use_files(name, arguments, is_error)
            case _:
                raise UnsupportedSyntax

    def _test(self, arguments: Sequence[str]) -> bool:
        match arguments:
            case ["-e" | "-f", path]:
                return self.files.read(path) is not None
            case _:
                return holds(arguments)

    def _use_files(self, program: str, arguments: Sequence[str], is_error: bool) -> None:
        options = {part for part in arguments if part.startswith("-")}
        is_forced = bool(options & {"-f", "-rf", "-fr"})
        if options - (_REMOVING if program == "rm" else frozenset()):
            raise UnsupportedSyntax
        code = 0
        for path in (part for part in arguments if not part.startswith("-")):
            if program == "touch" and (why := self.files.refusal(path)):
                self._print(f"touch: {path}: {why}\n", is_error=True)
                code = 1
            elif program == "touch":
                self.files.write(path, "", self._now_s)
            elif program == "rm" and is_forced:
                self.files.remove(path, self._now_s)
            elif (content := self.files.read(path)) is None:
                said = "can't open" if program == "cat" else "can't remove"
                self._print(f"{program}: {said} '{path}': {_NO_FILE}\n", is_error=True)
                code = 1
            elif program == "rm":
                self.files.remove(path, self._now_s)
            elif content:
                self._print(content, is_error)
        self.code = code

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
        self.budget.spend(len(text))
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
        value = self._unmeasured(piece)
        self.budget.spend(len(value))
        return value

    def _unmeasured(self, piece: Piece) -> str:
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
        self.budget.spend(len(self.variables))
        inner = _Run(
            self.variables,
            self.shell,
            self.files,
            self.are_all_known,
            code=self.code,
            budget=self.budget,
        )
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
