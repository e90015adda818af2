"""Whatever containers put in a file's place, the kubelet neither waits nor follows nor fills up."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from proreus.cluster.kubelet.runtimes.pod_spec.volumes import VolumeFile
from proreus.cluster.kubelet.runtimes.process.atomic_writer import publish
from proreus.cluster.kubelet.runtimes.process.log_files import (
    LogWriter,
    prepare_log_folder,
    segments,
)
from proreus.cluster.kubelet.runtimes.process.log_reading import read_log, tail_text
from proreus.cluster.kubelet.runtimes.process.orphaned_processes import GroupRecord
from proreus.cluster.kubelet.runtimes.streams import LogOptions
from proreus.cluster.untrusted_files import (
    make_private,
    open_regular,
    read_regular,
    remove_tree,
    write_record,
)


def put_socket(path: Path) -> None:
    made = socket.socket(socket.AF_UNIX)
    here = Path.cwd()
    os.chdir(path.parent)  # the names of sockets are short
    try:
        made.bind(path.name)
    finally:
        os.chdir(here)
        made.close()


def put_link(path: Path) -> None:
    path.symlink_to("/etc/hostname")


SPOILERS: dict[str, Callable[[Path], None]] = {
    "fifo": os.mkfifo,
    "folder": Path.mkdir,
    "link": put_link,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "socket": put_socket,
}
spoiled = pytest.mark.parametrize("put", SPOILERS.values(), ids=SPOILERS)


@spoiled
def test_only_regular_files_are_opened(tmp_path: Path, put: Callable[[Path], None]) -> None:
    put(tmp_path / "x")

    for flags in (os.O_RDONLY, os.O_WRONLY | os.O_CREAT):
        with pytest.raises(OSError):
            open_regular(tmp_path / "x", flags)
    assert GroupRecord.read(tmp_path / "x") is None


def test_of_a_long_file_only_the_beginning_is_read(tmp_path: Path) -> None:
    with (tmp_path / "x").open("wb") as file:
        file.write(b"begins")
        file.truncate(1 << 40)

    assert read_regular(tmp_path / "x", 8) == b"begins\0\0"


@pytest.mark.parametrize("kind", ["fifo", "link", "device", "socket"])
def test_a_record_is_written_over_what_took_its_place(tmp_path: Path, kind: str) -> None:
    SPOILERS[kind](tmp_path / "record")

    write_record(tmp_path / "record", b"mine")

    assert read_regular(tmp_path / "record", 10) == b"mine"


def test_a_link_in_place_of_a_private_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o755)
    (tmp_path / "ours").symlink_to("theirs")

    with pytest.raises(OSError):
        make_private(tmp_path / "ours")

    assert (tmp_path / "theirs").stat().st_mode & 0o777 == 0o755


def test_a_tree_deeper_than_any_stack_or_path_is_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    here, descriptor = Path.cwd(), os.open(top, os.O_RDONLY)
    try:
        os.fchdir(descriptor)
        for _ in range(3000):
            Path("d").mkdir()
            Path("file").touch()
            os.mkfifo("fifo")
            os.chdir("d")
    finally:
        os.chdir(here)
        os.close(descriptor)

    remove_tree(top)

    assert not top.exists()


def test_removing_a_tree_leaves_what_its_links_lead_to(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").touch()
    inner = tmp_path / "top/inner"
    inner.mkdir(parents=True)
    (inner / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "other").symlink_to("kept")

    remove_tree(tmp_path / "top")
    remove_tree(tmp_path / "other")

    assert not inner.exists()
    assert not (tmp_path / "other").is_symlink()
    assert (tmp_path / "kept/file").exists()


@spoiled
async def test_a_container_that_spoils_its_log_costs_lines_and_nothing_else(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    prepare_log_folder(tmp_path, 0)
    writer = LogWriter(tmp_path / "0", lambda: 0.0, segment_bytes=100)
    put(tmp_path / "0/1.log")  # before the writer comes there

    for number in range(6):
        writer.write("stdout", b"line %d\n" % number)
    writer.close()

    assert segments(tmp_path / "0")
    for options in (LogOptions(), LogOptions(tail_lines=100)):
        pieces = [piece async for piece in read_log(tmp_path / "0", options, None)]
        assert b"".join(pieces).startswith(b"line 0\n")
    assert tail_text(tmp_path / "0", lines=100, limit_bytes=1000).startswith("line 0\n")


async def test_a_log_longer_than_any_of_ours_is_not_read(tmp_path: Path) -> None:
    prepare_log_folder(tmp_path, 0)
    os.truncate(os.open(tmp_path / "0/0.log", os.O_CREAT | os.O_WRONLY), 1 << 40)

    for options in (LogOptions(), LogOptions(tail_lines=1)):
        assert [piece async for piece in read_log(tmp_path / "0", options, None)] == []


def test_a_volume_whose_version_leads_elsewhere_is_made_anew_and_the_place_stays(
    tmp_path: Path,
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/key").write_bytes(b"theirs")
    files = {"key": VolumeFile(b"value", 0o644)}
    volume = tmp_path / "volume"
    publish(volume, files)
    for target in ("../elsewhere", str(tmp_path / "elsewhere"), "/"):
        (volume / "..data").unlink()
        (volume / "..data").symlink_to(target)

        assert publish(volume, files)

        assert (volume / "key").read_bytes() == b"value"
        assert (tmp_path / "elsewhere/key").read_bytes() == b"theirs"
    assert not publish(volume, files)


@spoiled
def test_a_volume_with_a_spoiled_file_is_made_anew(
    tmp_path: Path, put: Callable[[Path], None]
) -> None:
    files = {"key": VolumeFile(b"value", 0o644)}
    publish(tmp_path, files)
    path = (tmp_path / "key").resolve()
    path.unlink()
    put(path)

    assert publish(tmp_path, files)

    assert (tmp_path / "key").read_bytes() == b"value"
