"""Flags, annotations and environment variables: ``--help``, documentation and code agree."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from proreus.cli.environment import ENVIRONMENT
from proreus.cli.main import _COMMANDS, main
from proreus.cli.reference import pages
from proreus.cluster.kubelet.runtimes.simulated.annotations import ANNOTATIONS

ROOT = Path(__file__).parents[3]
# Those that proreus sets for programs that it starts.
_SET = {"KUBERNETES_EXEC_INFO"}
_READ = re.compile(r"""env(?:iron)?(?:\.get\(|\[)"([A-Z_]+)\"""")


def help_of(*command: str) -> str:
    return CliRunner().invoke(main, [*command, "--help"]).output


@pytest.mark.parametrize("page", pages(ROOT / "docs"), ids=lambda page: page.name)
def test_a_page_says_what_help_says(page: Path) -> None:
    made = pages(ROOT / "docs")[page]

    assert page.read_text() == made, "run python -m proreus.cli.reference docs"


def test_every_environment_variable_that_is_read_is_listed() -> None:
    read = {
        name
        for module in (ROOT / "src" / "proreus").rglob("*.py")
        for name in _READ.findall(module.read_text())
    }
    listed = {one.name for one in ENVIRONMENT}

    assert read - _SET <= listed
    assert "KUBECONFIG" in read
    assert [name for name in listed if name not in help_of()] == []


@pytest.mark.parametrize("command", ["up", "kubelet"])
def test_help_has_the_annotations_of_simulated_pods(command: str) -> None:
    text = help_of(command)

    assert [one.name for one in ANNOTATIONS if f"proreus.dev/{one.name}: " not in text] == []


@pytest.mark.parametrize("name", _COMMANDS)
def test_every_flag_says_what_it_does(name: str) -> None:
    command = main.get_command(click.Context(main), name)

    assert command is not None
    options = [one for one in command.params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help] == []
    first = " ".join((command.help or "").partition("\n\n")[0].split())
    assert first == _COMMANDS[name]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_given_a_script_that_asks_proreus(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])

    assert result.exit_code == 0
    assert "_PROREUS_COMPLETE" in result.output


def test_a_shell_completes_commands_and_values_of_flags() -> None:
    def completed(words: str) -> list[str]:
        environment = {
            "_PROREUS_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split(" ")) - 1),
        }
        said = CliRunner().invoke(main, env=environment, prog_name="proreus").output
        return [line.partition(",")[2] for line in said.splitlines()]

    assert completed("proreus st") == ["status"]
    assert completed("proreus up --runtime ") == ["simulated", "process"]


def test_a_defect_is_a_sentence_and_with_v_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def defective(path: Path) -> list[Path]:
        raise LookupError("ours")

    monkeypatch.setattr("proreus.cli.commands.logs.log_files", defective)

    short = CliRunner().invoke(main, ["logs"])
    long = CliRunner().invoke(main, ["logs", "-v"])

    assert short.exit_code == 1
    assert short.output == (
        "Error: a defect of proreus, LookupError: ours; run it again with -v to see where, and "
        "report that\n"
    )
    assert isinstance(long.exception, LookupError)
