"""Commands of a ``console`` or ``sh`` block, each with what the page says that it prints."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.documentation.blocks import Block

HEREDOC = re.compile(r"<<-? *['\"]?(?P<word>\w+)['\"]?")


@dataclass(frozen=True, slots=True)
class Command:
    """``printed`` is None if the page does not say; ``line`` counts from the block's first."""

    text: str
    printed: str | None
    line: int


def commands_of(block: Block) -> list[Command]:
    return _console(block.text) if block.language == "console" else _shell(block.text)


def _console(text: str) -> list[Command]:
    found: list[Command] = []
    for start, command, after in _cut(text.splitlines(), prompt="$ "):
        found.append(Command(command, "\n".join(after) + "\n" if after else "", start))
    return found


def _shell(text: str) -> list[Command]:
    """Everything is a command: lines that continue, and here-documents, belong together."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [Command(command, None, start) for start, command, _ in _cut(lines, prompt="")]


def _cut(lines: list[str], prompt: str) -> list[tuple[int, str, list[str]]]:
    found: list[tuple[int, str, list[str]]] = []
    at = 0
    while at < len(lines):
        if not lines[at].startswith(prompt):
            assert found, f"output without a command: {lines[at]}"
            found[-1][2].append(lines[at])
            at += 1
            continue
        start, command = at, [lines[at].removeprefix(prompt)]
        heredoc = HEREDOC.search(command[0])
        while command[-1].endswith("\\") or (heredoc and command[-1] != heredoc["word"]):
            at += 1
            command.append(lines[at].removeprefix("> "))
        found.append((start, "\n".join(command), []))
        at += 1
    return found
