"""Files that change together: a folder whose readers see all of the old ones or all of the new.

folder/..2026…/key     the files of one version
folder/..data          a link to the version that counts, replaced by one rename
folder/key             a link to ..data/key
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from proreus.cluster.kubelet.runtimes.process.volumes import VolumeFile

_CURRENT = "..data"
_CURRENT_NEXT = "..data_tmp"


def publish(folder: Path, files: Mapping[str, VolumeFile]) -> bool:
    """Make ``folder`` show exactly these files; whether that was a change."""
    folder.mkdir(parents=True, exist_ok=True)
    current = folder / _CURRENT
    before = _version(current)
    if before is not None and _is_equal(before, files):
        return False
    version = Path(tempfile.mkdtemp(prefix="..", dir=folder))
    for path, file in files.items():
        _write(version / path, file)
    version.chmod(0o755)  # the pod's own folder keeps others out
    following = folder / _CURRENT_NEXT
    following.unlink(missing_ok=True)
    following.symlink_to(version.name)
    following.replace(current)
    _show(folder, {Path(path).parts[0] for path in files})
    if before is not None:
        shutil.rmtree(before, ignore_errors=True)
    return True


def _version(current: Path) -> Path | None:
    try:
        return current.parent / current.readlink()
    except OSError:
        return None


def _is_equal(version: Path, files: Mapping[str, VolumeFile]) -> bool:
    found = {str(path.relative_to(version)) for path in version.rglob("*") if path.is_file()}
    return found == set(files) and all(
        (version / path).read_bytes() == file.content
        and (version / path).stat().st_mode & 0o777 == file.mode
        for path, file in files.items()
    )


def _write(path: Path, file: VolumeFile) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
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
