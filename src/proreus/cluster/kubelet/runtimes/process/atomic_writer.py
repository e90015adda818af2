"""Atomic updates of a folder of files: readers see all of the old ones or all of the new.

folder/..<digest>_…/key   the files of one version
folder/..data          a link to the version that counts, replaced by one rename
folder/key             a link to ..data/key
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from proreus.cluster.kubelet.runtimes.pod_spec.volumes import VolumeFile
from proreus.cluster.untrusted_files import open_regular, remove_tree

_CURRENT = "..data"
_CURRENT_NEXT = "..data_tmp"
_DIGEST_LENGTH = 32
_VERSION = re.compile(rf"\.\.[0-9a-f]{{{_DIGEST_LENGTH}}}_[^/]+")


def publish(folder: Path, files: Mapping[str, VolumeFile]) -> bool:
    """Make ``folder`` show exactly these files; whether that was a change."""
    folder.mkdir(parents=True, exist_ok=True)
    current = folder / _CURRENT
    before = _version(current)
    if before is not None and _is_equal(before, files):
        return False
    version = Path(tempfile.mkdtemp(prefix=f"..{_digest(files)}_", dir=folder))
    for path, file in files.items():
        _write(version / path, file)
    version.chmod(0o755)  # the pod's own folder keeps others out
    following = folder / _CURRENT_NEXT
    following.unlink(missing_ok=True)
    following.symlink_to(version.name)
    following.replace(current)
    _show(folder, {Path(path).parts[0] for path in files})
    if before is not None:
        remove_tree(before)
    return True


def _version(current: Path) -> Path | None:
    """What ``..data`` leads to, if that is a version of ours: a container can make it lead to
    anywhere, and an old version is removed."""
    try:
        name = str(current.readlink())
    except OSError:
        return None
    version = current.parent / name
    is_ours = _VERSION.fullmatch(name) and not version.is_symlink() and version.is_dir()
    return version if is_ours else None


def _is_equal(version: Path, files: Mapping[str, VolumeFile]) -> bool:
    """The name says which files there were; that they are still the same, only they do."""
    return version.name.startswith(f"..{_digest(files)}_") and all(
        _has(version / path, file) for path, file in files.items()
    )


def _has(path: Path, wanted: VolumeFile) -> bool:
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            mode = os.fstat(file.fileno()).st_mode & 0o777
            return mode == wanted.mode and file.read(len(wanted.content) + 1) == wanted.content
    except OSError:
        return False


def _digest(files: Mapping[str, VolumeFile]) -> str:
    """Of the files' names, modes and contents."""
    made = hashlib.sha256()
    for path, file in sorted(files.items()):
        head = f"{len(path)} {path} {file.mode} {len(file.content)} "
        made.update(head.encode("utf-8", "surrogateescape"))
        made.update(file.content)
    return made.hexdigest()[:_DIGEST_LENGTH]


def _write(path: Path, file: VolumeFile) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(file.content)
        os.fchmod(descriptor, file.mode)


def _show(folder: Path, names: set[str]) -> None:
    """One link per name; links of ours that lead nowhere any more go."""
    for name in names:
        link = folder / name
        if not link.is_symlink():
            link.symlink_to(f"{_CURRENT}/{name}")
    for entry in folder.iterdir():
        is_ours = entry.is_symlink() and str(entry.readlink()).startswith(f"{_CURRENT}/")
        if is_ours and entry.name not in names:
            entry.unlink()
