"""``python -m benchmarks``, as people call it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from benchmarks import __main__ as program
from benchmarks import _command
from benchmarks._peers import Peers
from benchmarks._results import record
from benchmarks._results.record import Figure, Results, Run
from tests.benchmarks.figures import run

MISSED = Figure("a write, CPU", 30.0, "µs", target=10.0, noise=0.1)
MET = Figure("a write, CPU", 8.0, "µs", target=10.0, noise=0.1)


def file_of(folder: Path, figure: Figure) -> Path:
    path = folder / "given.json"
    path.write_bytes(record.written(Results((run(figure),))))
    return path


def test_a_benchmark_runs_in_its_process_and_its_results_are_kept(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code = program.main(["audit", f"--results={tmp_path}"])

    (kept,) = record.last(tmp_path).runs
    assert code == 0
    assert kept.benchmark == "audit" and kept.figures and kept.pace.ms > 0
    assert kept.figures[0].question in capfd.readouterr().out
    assert (tmp_path / "latest.svg").exists()


def test_what_was_measured_is_kept_when_the_rest_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(name: str, peers: Peers) -> Run:
        if name == "views":
            raise KeyboardInterrupt
        return run(MET, name=name)

    monkeypatch.setattr(program, "in_a_process", measured)
    with pytest.raises(KeyboardInterrupt):
        program.main(["audit", "storage", "views", f"--results={tmp_path}"])

    kept = record.read(next(tmp_path.glob("2*.json")))
    assert [one.benchmark for one in kept.runs] == ["audit", "storage"]
    assert record.last(tmp_path) == kept


def test_a_benchmark_that_fails_is_named_and_ends_with_1(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_command, "benchmark_names", lambda: ["absent"])

    code = program.main(["absent", f"--results={tmp_path}"])

    said = capfd.readouterr().out
    assert code == 1
    assert "FAILED" in said and "No module named 'benchmarks.absent'" in said


@pytest.mark.parametrize(
    ("figure", "flags", "code"),
    [(MISSED, ["--strict"], 1), (MISSED, [], 0), (MET, ["--strict"], 0)],
)
def test_strict_ends_with_1_when_a_target_is_missed(
    tmp_path: Path, figure: Figure, flags: list[str], code: int
) -> None:
    given = [f"--from={file_of(tmp_path, figure)}", f"--results={tmp_path}"]

    assert program.main([*given, *flags]) == code


def test_results_are_compared_with_the_last_or_with_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record.keep(Results((run(MET),)), tmp_path)
    other = tmp_path / "other.json"
    other.write_bytes(record.written(Results((run(MISSED),))))
    given = [f"--from={file_of(tmp_path, MISSED)}", f"--results={tmp_path}", "--compare"]

    program.main(given)
    with_last = capsys.readouterr().out
    program.main([*given, str(other)])
    with_file = capsys.readouterr().out

    assert "WORSE" in with_last
    assert "WORSE" not in with_file


def test_a_file_that_cannot_be_read_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = program.main([f"--from={tmp_path / 'absent.json'}", f"--results={tmp_path}"])

    assert code == 2
    assert "absent.json" in capsys.readouterr().err


def test_peers_are_given_by_flags_and_handed_on(tmp_path: Path) -> None:
    binary = tmp_path / "etcd"
    binary.touch()

    command = _command.parsed(["storage", f"--etcd={binary}"])

    assert command.peers == Peers(etcd=binary)
    assert command.peers.flags() == [f"--etcd={binary}"]


@pytest.mark.parametrize("arguments", [["nothing-like-it"], ["--repeat=0"], ["--etcd=/absent"]])
def test_what_is_not_there_is_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        _command.parsed(arguments)

    assert ended.value.code == 2


@pytest.mark.parametrize("name", _command.benchmark_names())
def test_every_module_that_is_listed_can_be_run(name: str) -> None:
    found = importlib.util.find_spec(f"benchmarks.{name}")

    assert found is not None and found.origin is not None
    assert "\ndef run() -> list[Row]:\n" in Path(found.origin).read_text()
