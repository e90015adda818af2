"""What a simulated command does, found before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from proreus.cluster.kubelet.runtimes.simulated.shell_files import FileChange


@dataclass(frozen=True, slots=True)
class Line:
    """Printed ``at_s`` seconds after the start; ``text`` has its newline, if it has one."""

    at_s: float
    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """``runs_s`` None: it does not end by itself. ``files``: in order of time."""

    runs_s: float | None
    exit_code: int
    lines: tuple[Line, ...] = ()
    files: tuple[FileChange, ...] = ()
