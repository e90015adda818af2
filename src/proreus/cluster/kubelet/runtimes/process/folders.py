"""The directories of a pod on disk.

    pods/<uid>/volumes/<volume>/…
    pods/<uid>/containers/<name>/root/…        the container's working folder, fresh at each start
    pods/<uid>/containers/<name>/logs/<n>/     what its n-th start wrote
    pods/<uid>/containers/<name>/process.json  the process group that runs now

Without mounts, a ``mountPath`` is a link below ``root``: ``/etc/config`` is found at
``etc/config`` from where the container starts, and at ``$PROREUS_ROOT/etc/config`` from anywhere.
All of it is readable by its owner only (0700).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import assert_never

from proreus.api.json_types import Json
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import ContainerSpec
from proreus.cluster.kubelet.runtimes.pod_spec.references import ConfigProblem
from proreus.cluster.kubelet.runtimes.pod_spec.volumes import (
    Empty,
    Files,
    HostPath,
    VolumeContent,
    sub_path,
)
from proreus.cluster.kubelet.runtimes.process.atomic_writer import publish
from proreus.cluster.untrusted_files import (
    make_private,
    open_regular,
    remove_tree,
)

_TERMINATION_LOG = "/dev/termination-log"
_HOST_CHECKS = {
    "Directory": (Path.is_dir, "a directory"),
    "File": (Path.is_file, "a file"),
    "Socket": (Path.is_socket, "a socket"),
    "CharDevice": (Path.is_char_device, "a character device"),
    "BlockDevice": (Path.is_block_device, "a block device"),
}


@dataclass(frozen=True, slots=True)
class ContainerFolder:
    path: Path

    @property
    def root(self) -> Path:
        return self.path / "root"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def record(self) -> Path:
        return self.path / "process.json"

    def termination_log(self, container: ContainerSpec) -> Path:
        said = container.content.get("terminationMessagePath") or _TERMINATION_LOG
        return self.root / _inside(said)


@dataclass(frozen=True, slots=True)
class PodFolder:
    path: Path

    def container(self, name: str) -> ContainerFolder:
        return ContainerFolder(self.path / "containers" / name)

    def volume(self, name: str) -> Path:
        return self.path / "volumes" / name


def write_volume(folder: PodFolder, name: str, content: VolumeContent) -> bool:
    """Whether something changed. Raises ``ConfigProblem``."""
    place = folder.volume(name)
    match content:
        case Empty():
            if not place.exists():
                place.mkdir(parents=True)
                place.chmod(0o777)  # for any user of the pod, whose folder keeps others out
            return False
        case Files(files):
            return publish(place, files)
        case HostPath(path, kind):
            target = _host_path(path, kind)
            if not place.is_symlink():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(target)
            return False
        case unknown:
            assert_never(unknown)


def create_root(folder: PodFolder, container: ContainerSpec, variables: Mapping[str, str]) -> None:
    """A fresh root with a link for every mount. Raises ``ConfigProblem``."""
    home = folder.container(container.name)
    remove_tree(home.root)
    home.root.mkdir(parents=True)
    # Outer mounts first, so that inner ones are made inside of what is mounted there.
    mounts = container.content.get("volumeMounts") or ()
    for mount in sorted(mounts, key=lambda said: len(_inside(said["mountPath"]).parts)):
        _link(folder, home.root, mount, variables)
    message = home.termination_log(container)
    if not message.exists():
        message.parent.mkdir(parents=True, exist_ok=True)
        os.close(open_regular(message, os.O_WRONLY | os.O_CREAT, 0o644))


def working_folder(home: ContainerFolder, container: ContainerSpec) -> Path:
    """``workingDir``: in the container's own tree if it is there, else the machine's, else made."""
    wanted = container.content.get("workingDir") or ""
    own = home.root / _inside(wanted) if wanted else home.root
    if not own.is_dir():
        if Path(wanted).is_absolute() and Path(wanted).is_dir():
            return Path(wanted)
        own.mkdir(parents=True)
    return own


def prepare_private(folders: Iterable[Path]) -> None:
    for folder in folders:
        make_private(folder)


def _link(folder: PodFolder, root: Path, mount: Json, variables: Mapping[str, str]) -> None:
    volume = target = folder.volume(mount["name"])
    if below := sub_path(mount, variables):
        target = volume / _inside(below)
        if not target.resolve().is_relative_to(volume.resolve()):
            raise ConfigProblem(f"subPath {below} leads out of volume {mount['name']}")
        if not target.exists():
            target.mkdir(parents=True)
    place = root / _inside(mount["mountPath"])
    if place == root:
        raise ConfigProblem("the process runtime cannot mount a volume on /")
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_symlink():
        place.unlink()  # a mount inside of a volume, left by an earlier start
    place.symlink_to(target)


def _inside(path: str) -> PurePosixPath:
    """A path of the container, relative to its root."""
    pure = PurePosixPath(path.lstrip("/"))
    if ".." in pure.parts:
        raise ConfigProblem(f"a path may not climb with '..': {path}")
    return pure


def _host_path(path: str, kind: str) -> Path:
    target = Path(path)
    if kind == "DirectoryOrCreate":
        target.mkdir(parents=True, exist_ok=True)
    elif kind == "FileOrCreate":
        if not target.exists():  # looked at first: opening a FIFO would wait for its reader
            os.close(open_regular(target, os.O_WRONLY | os.O_CREAT, 0o644))
    elif kind in _HOST_CHECKS:
        holds, what = _HOST_CHECKS[kind]
        if not holds(target):
            raise ConfigProblem(f"hostPath type check failed: {path} is not {what}")
    return target
