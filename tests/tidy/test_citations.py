"""What comments cite is in the repository: sections of ``docs/reference``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
HEADING = re.compile(r"^#+ ([0-9]+(?:\.[0-9]+)*)\b", re.MULTILINE)
CASE = re.compile(r"^([0-9]+)\. Given", re.MULTILINE)
CITATION = re.compile(
    r"(?:(?P<document>\w+)\.md )?§(?P<section>[0-9]+(?:\.[0-9]+)*)(?: case (?P<case>[0-9]+))?"
)


def citing_files() -> Iterator[Path]:
    for folder in ("src", "tests", "benchmarks", "examples"):
        for pattern in ("*.py", "*.md"):
            yield from (ROOT / folder).rglob(pattern)
    yield from (path for path in (ROOT / "docs").glob("*.md"))
    yield from ROOT.glob("*.md")


def missing(text: str, documents: dict[str, str]) -> list[str]:
    """The citations of a text that lead nowhere. A bare § continues the citation before it."""
    found: list[str] = []
    document: str | None = None
    for citation in CITATION.finditer(text):
        document = citation["document"] or document
        content = documents.get(document or "", "")
        is_section = citation["section"] in HEADING.findall(content)
        is_case = citation["case"] is None or citation["case"] in CASE.findall(content)
        if not (is_section and is_case):
            found.append(citation[0])
    return found


def test_cited_sections_exist() -> None:
    documents = {path.stem: path.read_text() for path in REFERENCE.glob("*.md")}

    wrong = {
        str(path.relative_to(ROOT)): found
        for path in citing_files()
        if path != Path(__file__) and (found := missing(path.read_text(), documents))
    }

    assert not wrong, f"cite a section of docs/reference that exists: {wrong}"


def test_a_citation_that_leads_nowhere_is_found() -> None:
    documents = {"server": "## 1. A\n### 1.2 B\n1. Given x\n"}

    assert missing("server.md §1.2, §1", documents) == []
    assert missing("server.md §1 case 1", documents) == []
    assert missing("server.md §1.3", documents) == ["server.md §1.3"]
    assert missing("other.md §1", documents) == ["other.md §1"]
    assert missing("server.md §1 case 2", documents) == ["server.md §1 case 2"]
    assert missing("§1", documents) == ["§1"]
