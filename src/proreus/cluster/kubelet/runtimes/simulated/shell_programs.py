"""Programs that simulated scripts call, as functions of their arguments. Pure."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from proreus.cluster.kubelet.runtimes.simulated.shell_files import UnixUser
from proreus.cluster.kubelet.runtimes.simulated.shell_syntax import NUMBER, UnsupportedSyntax

_PROGRAM_FOLDERS = ("/bin/", "/usr/bin/")
_PROGRAMS = frozenset(
    {
        "true",
        "false",
        "sleep",
        "echo",
        "test",
        "expr",
        "env",
        "printenv",
        "id",
        "cat",
        "touch",
        "rm",
        "tail",
    }
)
_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq, "-ne": operator.ne, "-lt": operator.lt,
    "-le": operator.le, "-gt": operator.gt, "-ge": operator.ge,
}  # fmt: skip


def holds(arguments: Sequence[str]) -> bool:
    """Of ``test``."""
    match arguments:
        case []:
            return False
        case [text]:
            return bool(text)
        case ["!", *rest] if rest:
            return not holds(rest)
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


def identity(user: UnixUser, arguments: Sequence[str]) -> str:
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


def program_name(said: str) -> str:
    """``/bin/echo`` is ``echo``; what a shell has built in lies in no folder."""
    for folder in _PROGRAM_FOLDERS:
        if said.removeprefix(folder) in _PROGRAMS:
            return said.removeprefix(folder)
    return said


def file_name(program: str) -> str:
    """``/bin/sleep`` is ``sleep``."""
    return program.rpartition("/")[2]
