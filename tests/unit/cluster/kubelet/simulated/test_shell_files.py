"""Files that simulated scripts write: who may, what is read, and what is not understood."""

from __future__ import annotations

import pytest

from proreus.cluster.kubelet.runtimes.simulated.shell_files import (
    ContainerPlace,
    FileChange,
    UnixUser,
    files_at,
)
from proreus.cluster.kubelet.runtimes.simulated.shell_result import Line, ScriptResult
from proreus.cluster.kubelet.runtimes.simulated.shell_script import interpret


def sh(script: str, place: ContainerPlace | None = None) -> ScriptResult | None:
    return interpret(["/bin/sh", "-c", script], {}, place or ContainerPlace())


def output(script: str) -> str:
    found = sh(script)
    assert found is not None
    return "".join(line.text for line in found.lines)


def test_what_was_written_is_read() -> None:
    assert output("echo one > /tmp/f; echo two >>/tmp/f; cat /tmp/f") == "one\ntwo\n"
    assert output("echo -n a > f; X=b; echo $X 1>> /f; cat /f /f") == "ab\nab\n"
    assert output("cd=1; touch /tmp/g; [ -e /tmp/g ] && echo there") == "there\n"
    assert output("echo lost > /dev/null; echo kept") == "kept\n"
    assert output("exec echo x > /tmp/f; echo never") == ""


def test_what_was_removed_is_not_there() -> None:
    assert sh("echo a > /tmp/f; sleep 5; rm -rf /tmp/f; cat /tmp/f") == ScriptResult(
        5,
        1,
        (Line(5, "cat: can't open '/tmp/f': No such file or directory\n", is_error=True),),
        (
            FileChange(0, "/tmp/f", ""),
            FileChange(0, "/tmp/f", "a\n"),
            FileChange(5, "/tmp/f", None),
        ),
    )


def test_files_are_as_their_last_change_left_them() -> None:
    found = sh("echo a > /tmp/f; sleep 2; rm /tmp/f; sleep 2; echo b > /tmp/f")

    assert found is not None
    seen = [files_at(found.files, at_s)["/tmp/f"] for at_s in (0, 1.9, 2, 4, 99)]
    assert seen == ["a\n", "a\n", None, "b\n", "b\n"]


def test_a_read_only_file_system_is_not_written() -> None:
    place = ContainerPlace(is_read_only=True)
    said = "/bin/sh: can't create /file: Read-only file system\n"

    assert sh("echo test > /file; sleep 240", place) == ScriptResult(
        240, 0, (Line(0, said, is_error=True),)
    )
    assert sh("touch /tmp/f", place) == ScriptResult(
        0, 1, (Line(0, "touch: /tmp/f: Read-only file system\n", is_error=True),)
    )
    assert sh("echo -n OK > /dev/termination-log", place) is not None


@pytest.mark.parametrize(
    "script",
    [
        "cat /etc/hosts", "echo a > /etc/f", "echo a > /data/f", "cat /data/f", "rm /tmp/unknown",
        "echo a > /tmp/../etc/f", "echo a >> /tmp/unknown", "test -e /tmp/unknown", "cat -n /tmp/f",
        "echo a > /tmp", "echo a > /tmp/f >&2", "echo a > /tmp/f > /tmp/g", "> /tmp/f", "cat",
        "echo $(echo a > /tmp/f)", "if true; then true; fi > /tmp/f", "echo a >", "echo a > ; true",
    ],
)  # fmt: skip
def test_what_is_not_known_is_not_understood(script: str) -> None:
    assert sh(script, ContainerPlace(mounts=("/data",))) is None


def test_who_is_not_root_writes_where_everybody_may() -> None:
    place = ContainerPlace(UnixUser(1000), message_path="/dev/own-log")

    assert sh("echo a > /tmp/f", place) is not None
    assert sh("echo a > /dev/own-log", place) is not None
    assert sh("echo a > /f", place) is None


def test_a_script_that_writes_without_end_is_not_understood() -> None:
    assert sh(";".join(["echo a > /tmp/f"] * 2000)) is None
