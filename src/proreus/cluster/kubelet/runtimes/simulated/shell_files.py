"""The files that simulated commands write and read. Pure.

There are only those that a container's own script has written: what its image has, and what is
mounted, is not known, and a command that asks for it is not understood.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from proreus.cluster.kubelet.runtimes.simulated.shell_syntax import UnsupportedSyntax

READ_ONLY = "Read-only file system"
MESSAGE_PATH = "/dev/termination-log"
_SHARED_FOLDERS = frozenset({"/tmp", "/var/tmp", "/dev/shm"})
_ROOTS_FOLDERS = frozenset({"/", "/dev", "/root", "/run"})
_BYTES_MAX = 64 * 1024
_CHANGES_MAX = 1000


@dataclass(frozen=True, slots=True)
class UnixUser:
    """``groups``: beside ``gid``."""

    uid: int = 0
    gid: int = 0
    groups: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerPlace:
    """Where and as whom commands run. ``message_path`` can be written by everybody."""

    user: UnixUser = UnixUser()
    folder: str = "/"
    mounts: tuple[str, ...] = ()
    message_path: str = MESSAGE_PATH
    is_read_only: bool = False


@dataclass(frozen=True, slots=True)
class FileChange:
    """``content`` None: removed."""

    at_s: float
    path: str
    content: str | None


@dataclass(slots=True)
class ShellFiles:
    """``known``: contents by path, None of those that are known to be absent."""

    place: ContainerPlace
    known: dict[str, str | None] = field(default_factory=dict)
    changes: list[FileChange] = field(default_factory=list)

    def read(self, said: str) -> str | None:
        """None: there is no such file."""
        path = self._path(said)
        if path not in self.known:
            raise UnsupportedSyntax
        return self.known[path]

    def refusal(self, said: str) -> str:
        """Why it cannot be written; empty: it can."""
        path = self._path(said)
        is_device = path.startswith("/dev/") or path == self.place.message_path
        return READ_ONLY if self.place.is_read_only and not is_device else ""

    def write(self, said: str, content: str, at_s: float) -> None:
        path = self._path(said)
        if len(content) > _BYTES_MAX or len(self.changes) >= _CHANGES_MAX:
            raise UnsupportedSyntax
        self.known[path] = content
        self.changes.append(FileChange(at_s, path, content))

    def remove(self, said: str, at_s: float) -> None:
        path = self._path(said)
        self.known[path] = None
        self.changes.append(FileChange(at_s, path, None))

    def _path(self, said: str) -> str:
        """Raises ``UnsupportedSyntax`` for places of which nothing is known."""
        pure, place = PurePosixPath(self.place.folder, said), self.place
        path, folder = str(pure), str(pure.parent)
        if path == place.message_path:
            return path
        allowed = _SHARED_FOLDERS | (frozenset() if place.user.uid else _ROOTS_FOLDERS)
        is_mounted = any(pure.is_relative_to(mount) for mount in place.mounts)
        if folder not in allowed or is_mounted or ".." in pure.parts or path in allowed:
            raise UnsupportedSyntax
        return path


def files_at(changes: Iterable[FileChange], at_s: float) -> Mapping[str, str | None]:
    """What is known of files at a time."""
    return {change.path: change.content for change in changes if change.at_s <= at_s}
