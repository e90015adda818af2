"""A log is put aside when it is full, and old ones go by age and number."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from proreus.server.audit.log_file import LogFile, Loss
from proreus.server.audit.options import LogLimits
from proreus.testing.virtual_clock import VirtualClock


@contextmanager
def log(path: Path, limits: LogLimits | None = None) -> Iterator[LogFile]:
    file = LogFile(path, limits or LogLimits(), VirtualClock().now)
    with closing(file):
        yield file


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_lines_are_appended_to_what_is_there_and_only_the_owner_may_read(tmp_path: Path) -> None:
    path = tmp_path / "new" / "audit.log"
    for line in (b"a", b"b"):
        with log(path) as file:
            assert file.write([line]) is None

    assert path.read_bytes() == b"a\nb\n"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_full_file_is_put_aside_under_its_name_and_the_time(tmp_path: Path) -> None:
    with log(tmp_path / "audit.log", LogLimits(size_bytes=8)) as file:
        file.write([b"aaa", b"bbb", b"ccc"])

    assert names(tmp_path) == ["audit-2026-01-01T00-00-00.000.log", "audit.log"]
    assert (tmp_path / "audit-2026-01-01T00-00-00.000.log").read_bytes() == b"aaa\nbbb\n"
    assert (tmp_path / "audit.log").read_bytes() == b"ccc\n"


def test_files_put_aside_in_the_same_millisecond_are_all_kept(tmp_path: Path) -> None:
    with log(tmp_path / "audit.log", LogLimits(size_bytes=4)) as file:
        file.write([b"aaa", b"bbb", b"ccc"])

    assert [(tmp_path / name).read_bytes() for name in names(tmp_path)] == [
        b"aaa\n",
        b"bbb\n",
        b"ccc\n",
    ]


def test_a_line_longer_than_a_file_may_be_has_a_file_of_its_own(tmp_path: Path) -> None:
    with log(tmp_path / "audit.log", LogLimits(size_bytes=4)) as file:
        file.write([b"a", b"x" * 100, b"b"])

    contents = [(tmp_path / name).read_bytes() for name in names(tmp_path)]
    assert contents == [b"a\n", b"x" * 100 + b"\n", b"b\n"]


def test_only_the_newest_files_are_kept(tmp_path: Path) -> None:
    with log(tmp_path / "audit.log", LogLimits(size_bytes=2, backups=2)) as file:
        file.write([b"1", b"2", b"3", b"4", b"5"])

    contents = [(tmp_path / name).read_bytes() for name in names(tmp_path)]
    assert contents == [b"3\n", b"4\n", b"5\n"]


def test_files_older_than_the_limit_are_removed_and_others_are_left_alone(tmp_path: Path) -> None:
    old = tmp_path / "audit-2025-12-29T00-00-00.000.log"
    young = tmp_path / "audit-2025-12-30T12-00-00.000.log"
    other = tmp_path / "audit-notes.log"
    for path in (old, young, other):
        path.write_text("")

    with log(tmp_path / "audit.log", LogLimits(age_days=2)):
        pass

    assert names(tmp_path) == sorted([young.name, other.name, "audit.log"])


def test_lines_that_a_full_disk_refuses_are_counted_and_do_not_tear_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, room = os.write, [3, 0]

    def write(descriptor: int, data: bytes) -> int:
        if not room:
            return real(descriptor, data)
        if count := room.pop(0):
            return real(descriptor, data[:count])
        raise OSError(errno.ENOSPC, "No space left on device")

    with log(tmp_path / "audit.log") as file:
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", write)
            lost = file.write([b"aaaaaa", b"bbbbbb"])
        assert lost == Loss(2, "No space left on device")
        assert file.write([b"cc"]) is None

    assert (tmp_path / "audit.log").read_bytes() == b"aaa\ncc\n"


def test_several_processes_fill_one_log_and_lose_no_line(tmp_path: Path) -> None:
    path, limits = tmp_path / "audit.log", LogLimits(size_bytes=400, compress=True)

    def write(writer: int) -> None:
        with log(path, limits) as file:  # a descriptor of its own, as another process has
            for number in range(100):
                assert file.write([b"%d-%d" % (writer, number)]) is None

    with ThreadPoolExecutor(3) as writers:
        list(writers.map(write, range(3)))

    found = []
    for each in tmp_path.iterdir():
        content = gzip.decompress(each.read_bytes()) if each.suffix == ".gz" else each.read_bytes()
        found += content.decode().splitlines()
        assert len(content) <= 400
    assert sorted(found) == sorted(f"{w}-{n}" for w in range(3) for n in range(100))
