"""A container's output comes back as it was written: whole, from the end, from a time, growing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.cluster.kubelet.runtimes.process.log_files import (
    SEGMENTS,
    LogWriter,
    prepare_log_folder,
    segments,
    starts,
)
from proreus.cluster.kubelet.runtimes.process.log_format import (
    PIECE_MAX_BYTES,
    LogLineSplitter,
    LogRendering,
    format_log_time,
    parse_entry,
)
from proreus.cluster.kubelet.runtimes.process.log_reading import read_log, tail_text
from proreus.cluster.kubelet.runtimes.streams import LogOptions

NOW = 1_767_225_600.25
lines_of_text = st.lists(st.text("ab c", max_size=5).map(str.encode), max_size=12)


class Ticking:
    """A clock of whole seconds, one per look."""

    def __init__(self) -> None:
        self.now_s = NOW

    def __call__(self) -> float:
        self.now_s += 1
        return self.now_s


def open_log(logs: Path, restart: int, now: Ticking, **sizes: int) -> LogWriter:
    prepare_log_folder(logs, restart)
    return LogWriter(logs / str(restart), now, **sizes)


async def read(folder: Path, writer: LogWriter | None = None, **options: object) -> bytes:
    wanted = LogOptions(**options)  # type: ignore[arg-type]  # names are checked by the dataclass
    return b"".join([piece async for piece in read_log(folder, wanted, writer)])


def test_entries_look_as_container_runtimes_write_them() -> None:
    splitter = LogLineSplitter("stderr")

    written = splitter.feed(b"one\ntw", NOW) + splitter.feed(b"o\nrest", NOW) + splitter.end(NOW)

    assert written.split(b"\n") == [
        b"2026-01-01T00:00:00.250000000Z stderr F one",
        b"2026-01-01T00:00:00.250000000Z stderr F two",
        b"2026-01-01T00:00:00.250000000Z stderr P rest",
        b"",
    ]
    entry = parse_entry(written.split(b"\n")[0])
    assert entry is not None
    assert (entry.stream, entry.is_whole, entry.content) == ("Stderr", True, b"one")
    assert parse_entry(b"not one of ours") is None


@given(st.lists(st.binary(max_size=PIECE_MAX_BYTES * 2), max_size=4), st.integers(1, 40_000))
def test_any_output_in_any_pieces_is_rendered_exactly(pieces: list[bytes], cut: int) -> None:
    output = b"".join(pieces)
    splitter = LogLineSplitter("stdout")

    written = b"".join(
        splitter.feed(output[at : at + cut], NOW) for at in range(0, len(output), cut)
    )
    written += splitter.end(NOW)

    assert LogRendering().text(written.split(b"\n")) == output
    assert max(map(len, written.split(b"\n"))) <= PIECE_MAX_BYTES + 50


@given(st.floats(0, 4e9))
def test_times_sort_as_text(at: float) -> None:
    assert len(format_log_time(at)) == len("2026-01-01T00:00:00.250000000Z")
    assert format_log_time(at) <= format_log_time(at + 1)


@settings(max_examples=60, deadline=None)
@given(lines_of_text, st.integers(0, 14), st.booleans(), st.integers(20, 200))
async def test_the_tail_is_the_last_lines(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    wanted: int,
    has_end: bool,
    segment_bytes: int,
) -> None:
    output = b"".join(line + b"\n" for line in lines) + (b"" if has_end else b"unfinished")
    folder = tmp_path_factory.mktemp("logs")
    writer = open_log(folder, 0, Ticking(), segment_bytes=10 * segment_bytes)
    for line in output.splitlines(keepends=True):
        writer.write("stdout", line)
    writer.close()

    printed = await read(folder / "0", tail_lines=wanted)

    expected = output.splitlines(keepends=True)
    assert printed == b"".join(expected[len(expected) - min(wanted, len(expected)) :])
    assert tail_text(folder / "0", lines=wanted, limit_bytes=9) == printed[-9:].decode()


async def test_since_timestamps_streams_and_limits(tmp_path: Path) -> None:
    writer = open_log(tmp_path, 0, Ticking())
    writer.write("stdout", b"one\n")
    writer.write("stderr", b"two\n")
    writer.write("stdout", b"three\n")
    writer.close()
    log = tmp_path / "0"

    assert await read(log) == b"one\ntwo\nthree\n"
    assert await read(log, since=NOW + 2) == b"two\nthree\n"
    assert await read(log, stream="Stderr") == b"two\n"
    assert await read(log, limit_bytes=5) == b"one\nt"
    assert await read(log, limit_bytes=0) == b""
    assert await read(log, tail_lines=1, timestamps=True) == (
        b"2026-01-01T00:00:03.250000000Z three\n"
    )
    assert await read(log, tail_lines=1, stream="Stderr") == b"two\n"


async def test_old_segments_and_old_starts_are_dropped(tmp_path: Path) -> None:
    for restart in range(4):
        writer = open_log(tmp_path, restart, Ticking(), segment_bytes=100)
        for number in range(20):
            writer.write("stdout", b"line %d of start %d\n" % (number, restart))
        writer.close()

    assert starts(tmp_path) == [2, 3]
    assert len(segments(tmp_path / "3")) == SEGMENTS
    printed = (await read(tmp_path / "3")).splitlines()
    assert printed[-1] == b"line 19 of start 3"
    assert printed == [b"line %d of start 3" % n for n in range(20 - len(printed), 20)]


async def test_a_followed_log_grows_across_segments_until_it_is_closed(tmp_path: Path) -> None:
    writer = open_log(tmp_path, 0, Ticking(), segment_bytes=150)
    writer.write("stdout", b"before\n")
    expected = b"before\n"

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(read(tmp_path / "0", writer, follow=True))
        for number in range(12):
            await asyncio.sleep(0)
            line = b"line %d\n" % number
            writer.write("stdout", line)
            expected += line
            for _ in range(5):  # the reader keeps up, so nothing is dropped before it is read
                await asyncio.sleep(0)
        writer.write("stdout", b"no newline")
        writer.close()

    assert reading.result() == expected + b"no newline"


async def test_a_log_without_a_writer_is_not_followed(tmp_path: Path) -> None:
    writer = open_log(tmp_path, 0, Ticking())
    writer.write("stdout", b"all\n")
    writer.close()

    assert await read(tmp_path / "0", follow=True) == b"all\n"
    assert await read(tmp_path / "0", writer, follow=True) == b"all\n"
