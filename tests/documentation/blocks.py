"""The fenced blocks of a page, and what a reader is to do with each.

A block's language says how it is run. ``title="name"`` makes it a file that the reader writes. A
comment on the line above says what is special about it, and is not shown:

    <!-- not run: REASON -->         counted and justified by test_pages.py
    <!-- configuration -->           read by the server's parser of such files
    <!-- in another terminal -->     runs beside the rest; what is printed is compared in the end
    <!-- in that terminal, again --> the last one is ended as by Ctrl-C before
    <!-- after Ctrl-C -->            the same, and this block runs in the shell

A page whose text assumes a cluster begins with ``<!-- with: proreus up -->``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+|~~~+) *(?P<language>[\w-]*)(?P<rest>.*)$")
COMMENT = re.compile(r"^ *<!-- (?P<said>.*?) -->$")
TITLE = re.compile(r'title="(?P<title>[^"]+)"')
NOT_RUN = "not run: "
ELSEWHERE = "in another terminal"
AGAIN = "in that terminal, again"
CONFIGURATION = "configuration"
AFTER_CTRL_C = "after Ctrl-C"


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; ``line`` is where its text begins."""

    page: str
    line: int
    language: str
    text: str
    title: str = ""
    comment: str = ""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def why_not_run(self) -> str:
        return self.comment.removeprefix(NOT_RUN) if self.comment.startswith(NOT_RUN) else ""

    @property
    def is_configuration(self) -> bool:
        """A file that the server is started with: read by its parser instead of being run."""
        return self.comment == CONFIGURATION

    @property
    def is_skipped(self) -> bool:
        return bool(self.why_not_run) or self.is_configuration

    @property
    def is_elsewhere(self) -> bool:
        return self.comment in {ELSEWHERE, AGAIN}

    @property
    def ends_the_last(self) -> bool:
        return self.comment in {AGAIN, AFTER_CTRL_C}


def pages() -> list[Path]:
    """Those that people read; ``reference`` says how Kubernetes behaves and has no programs."""
    found = (path for path in DOCS.rglob("*.md"))
    return sorted(path for path in found if "reference" not in path.parts)


def blocks_of(page: str, markdown: str) -> list[Block]:
    found: list[Block] = []
    lines = markdown.splitlines()
    at = 0
    while at < len(lines):
        opening = FENCE.match(lines[at])
        if opening is None:
            at += 1
            continue
        start = at + 1
        end = start
        while end < len(lines) and lines[end].strip() != opening["fence"]:
            end += 1
        assert end < len(lines), f"{page}:{start}: the block does not end"
        comment = COMMENT.match(lines[at - 1]) if at else None
        title = TITLE.search(opening["rest"])
        text = "\n".join(line.removeprefix(opening["indent"]) for line in lines[start:end])
        found.append(
            Block(
                page,
                start + 1,
                opening["language"],
                text + "\n",
                title["title"] if title else "",
                comment["said"] if comment else "",
            )
        )
        at = end + 1
    return found


def assumed_server(markdown: str) -> str:
    """The command that starts what a page takes for granted; empty if nothing."""
    found = re.match(r"<!-- with: (?P<command>.*) -->\n", markdown)
    return found["command"] if found else ""


def indented_code(markdown: str) -> list[int]:
    """Lines of code without a fence: nobody can say how to run it."""
    found: list[int] = []
    in_fence, in_list = "", False
    for number, line in enumerate(markdown.splitlines(), 1):
        if opening := FENCE.match(line):
            in_fence = "" if in_fence == opening["fence"] else in_fence or opening["fence"]
        elif in_fence or not line.strip():
            continue
        elif line.startswith("    ") and not in_list:
            found.append(number)
        elif not line.startswith(" "):
            in_list = bool(re.match(r"([-*]|\d+\.|!!!|\?\?\?) ", line))
    return found
