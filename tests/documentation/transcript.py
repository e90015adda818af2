"""Whether a command printed what the page says.

``…`` stands for anything within a line, and alone on a line for any lines. Whole numbers of three
and more digits are revisions: the page's differ from the reader's, but their order is the same
everywhere on a page, so a page cannot call a version newer that is older. That of a list or a
bookmark may be newer than the page says: the server renews its lease meanwhile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

NUMBER = re.compile(r"(?<![\w.,-])\d{3,}(?![\w.,-])")
ELLIPSIS = "…"
OF_ALL = re.compile(r'("\w+List"|"BOOKMARK")[^\[]*"metadata":\{"resourceVersion":"$')
"""In front of a revision that is not one object's: what it is of has had no change since."""


@dataclass(slots=True)
class Revisions:
    """Which of the page's numbers is which of the server's."""

    of_page: dict[int, int] = field(default_factory=dict)

    def agree(self, said: int, seen: int) -> bool:
        known = self.of_page.setdefault(said, seen)
        return known == seen and all(
            (said < other) == (seen < other_seen)
            for other, other_seen in self.of_page.items()
            if other != said
        )

    def agree_of_all(self, said: int, seen: int) -> bool:
        """Not older than what the page calls as old; a later write may be in between."""
        return all(
            seen >= other_seen for other, other_seen in self.of_page.items() if other <= said
        )


def pattern_of(line: str) -> re.Pattern[str]:
    pieces: list[str] = []
    at = 0
    for number in NUMBER.finditer(line):
        pieces += [_escaped(line[at : number.start()]), r"(\d+)"]
        at = number.end()
    return re.compile("".join([*pieces, _escaped(line[at:])]))


def _escaped(text: str) -> str:
    return re.escape(text).replace(re.escape(ELLIPSIS), ".*?")


def line_matches(said: str, seen: str, revisions: Revisions) -> bool:
    found = pattern_of(said.rstrip()).fullmatch(seen.rstrip())
    if found is None:
        return False
    for number, group in zip(NUMBER.finditer(said), found.groups(), strict=True):
        is_of_all = OF_ALL.search(said, 0, number.start())
        agree = revisions.agree_of_all if is_of_all else revisions.agree
        if not agree(int(number[0]), int(group)):
            return False
    return True


def difference(said: str, seen: str, revisions: Revisions) -> str:
    """What is wrong with what was seen, in words; empty if nothing is."""
    expected, lines = said.rstrip("\n").splitlines(), seen.rstrip("\n").splitlines()
    at, may_skip = 0, False
    for line in expected:
        if line.strip() == ELLIPSIS:
            may_skip = True
            continue
        while may_skip and at < len(lines) and not pattern_of(line.rstrip()).fullmatch(lines[at]):
            at += 1
        if at == len(lines) or not line_matches(line, lines[at], revisions):
            got = lines[at] if at < len(lines) else "nothing more"
            return f"the page says\n  {line}\nand it printed\n  {got}\nof\n{seen}"
        at, may_skip = at + 1, False
    if at < len(lines) and not may_skip:
        return f"the page does not say that it prints\n  {lines[at]}\nof\n{seen}"
    return ""
