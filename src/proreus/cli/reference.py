"""The pages of ``docs/reference`` that list flags and environment variables, and the table of
annotations in ``docs/simulation.md``: ``python -m proreus.cli.reference docs`` writes them.

Made of what ``--help`` is made of, so that neither says what the other does not.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from proreus.cli.environment import ENVIRONMENT
from proreus.cli.main import main
from proreus.cluster.kubelet.runtimes.simulated.annotations import ANNOTATIONS, DOMAIN

_MADE = "<!-- Made by `python -m proreus.cli.reference docs`; do not edit. -->\n"
_BEGIN, _END = (
    "<!-- annotations: begin, made by proreus.cli.reference -->",
    "<!-- annotations: end -->",
)


def pages(docs: Path) -> Mapping[Path, str]:
    """The content of every page, by its file. Reads those of which a part is made."""
    simulation = docs / "simulation.md"
    return {
        docs / "reference" / "flags.md": flags_page(),
        docs / "reference" / "environment.md": environment_page(),
        simulation: _with_annotations(simulation.read_text(encoding="utf-8")),
    }


def flags_page() -> str:
    context = click.Context(main, info_name="proreus")
    commands = [(name, main.get_command(context, name)) for name in main.list_commands(context)]
    chapters = [_chapter(name, command) for name, command in commands if command is not None]
    about = "Every command and its flags, as `proreus COMMAND --help` prints them.\n"
    return "\n".join([_MADE, "# Commands and flags\n", about, *chapters])


def environment_page() -> str:
    rows = [(f"`{one.name}`", one.about) for one in ENVIRONMENT]
    return "\n".join(
        [_MADE, "# Environment variables\n", *_table(("Variable", "Meaning"), rows), ""]
    )


def annotations_table() -> str:
    rows = [
        (
            f"`{one.name}`",
            ", ".join(f"`{value}`" for value in one.values),
            one.about,
            one.default,
        )
        for one in ANNOTATIONS
    ]
    return "\n".join(_table((f"`{DOMAIN}/`", "value", "meaning", "default"), rows))


def _with_annotations(text: str) -> str:
    before, _, rest = text.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n\n{annotations_table()}\n\n{_END}{after}"


def _chapter(name: str, command: click.Command) -> str:
    usage = " ".join(
        [
            "proreus",
            name,
            *(
                parameter.make_metavar(click.Context(command))
                for parameter in command.params
                if isinstance(parameter, click.Argument)
            ),
            "[OPTIONS]",
        ]
    )
    lines = [f"## proreus {name}\n", f"    {usage}\n", *_prose(command.help or "")]
    rows = list(_options(command))
    return "\n".join([*lines, *_table(("Flag", "Meaning", "Default"), rows), ""])


def _prose(text: str) -> Iterator[str]:
    """Paragraphs; those that click is not to wrap are shown as they are."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            yield "\n".join(f"    {line}" for line in paragraph[2:].splitlines()) + "\n"
        else:
            yield " ".join(paragraph.split()) + "\n"


def _options(command: click.Command) -> Iterator[tuple[str, str, str]]:
    context = click.Context(command)
    for parameter in command.params:
        if not isinstance(parameter, click.Option) or parameter.hidden:
            continue
        record = parameter.get_help_record(context)
        assert record is not None
        flag = f"`{record[0]}`"
        extra = parameter.get_help_extra(context)
        default = f"`{extra['default']}`" if extra.get("default") else ""
        yield flag, (parameter.help or "").strip(), default


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    ]


if __name__ == "__main__":
    for path, content in pages(Path(sys.argv[1])).items():
        path.write_text(content, encoding="utf-8")
