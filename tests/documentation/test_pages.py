"""What the documentation shows is what happens: each page's blocks are run in their order."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from proreus.server.audit.policy_file import parse_policy
from proreus.server.authn.config_file import parse_config
from proreus.server.storage.encryption.configuration import parse_encryption
from tests.documentation.blocks import (
    DOCS,
    ROOT,
    Block,
    assumed_server,
    blocks_of,
    indented_code,
    pages,
)
from tests.documentation.diagrams import mistakes_in
from tests.documentation.session import session

RUN = {"console", "sh", "python", "yaml"}
READ = {"mermaid", "json", "text", "js"}
# Why a block may stand there unexecuted, and how many do for that reason.
NOT_RUN = {
    "installs packages from the network": 1,
    "needs an etcd cluster": 1,
    "names files that are not there": 2,
    "leaves out a certificate": 1,
    "measures for ten minutes": 1,
}
# Shown on a page, but run by another page, an example or a test, which is named.
RUN_ELSEWHERE = re.compile(r"(?P<place>(?:docs|examples|tests)/\S+) does")
NEEDED = {"kubectl": "kubernetes-client", "curl": "curl"}
EXAMPLES = ROOT / "examples"
DRAWING = "drawing"
PARSERS: dict[str, Callable[[bytes], object]] = {
    "AuthenticationConfiguration": parse_config,
    "EncryptionConfiguration": parse_encryption,
    "Policy": parse_policy,
}

PAGES = {path.relative_to(DOCS).as_posix(): path for path in pages()}
BLOCKS = {name: blocks_of(name, path.read_text()) for name, path in PAGES.items()}
ALL = [block for blocks in BLOCKS.values() for block in blocks]
CONFIGURATIONS = [block for block in ALL if block.is_configuration]
WITH_PROGRAMS = [
    name
    for name, blocks in BLOCKS.items()
    if any(block.language in RUN and not block.is_skipped for block in blocks)
]


@pytest.fixture(scope="module")
def assumed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """The data folder of a server that pages take for granted: one for all that want the same."""
    folders: dict[str, Path] = {}
    with ExitStack() as running:

        def start(server: str) -> Path:
            if server not in folders:
                folder = tmp_path_factory.mktemp("assumed")
                running.enter_context(session(folder)).start(server)
                folders[server] = folder / ".proreus"
            return folders[server]

        yield start


@pytest.mark.parametrize("page", WITH_PROGRAMS)
def test_what_a_page_shows_happens(
    page: str, tmp_path: Path, assumed: Callable[[str], Path]
) -> None:
    blocks = [block for block in BLOCKS[page] if not block.is_skipped]
    text = "".join(block.text for block in blocks)
    for program, package in NEEDED.items():
        if f"{program} " in text and not shutil.which(program):
            pytest.skip(f"{program} is not installed (Debian: {package})")

    with session(tmp_path) as reader:
        if server := assumed_server(PAGES[page].read_text()):
            reader.use(assumed(server))
        for block, following in zip(blocks, [*blocks[1:], None], strict=True):
            printed = following if following and following.language == "text" else None
            try:
                reader.run(block, printed)
            except AssertionError as wrong:
                raise AssertionError(f"docs/{block.place}: {wrong}") from None


def test_every_block_has_a_language_that_says_how_it_is_checked() -> None:
    unknown = [f"{one.place} {one.language}" for one in ALL if one.language not in RUN | READ]

    assert not unknown, f"use one of {sorted(RUN | READ)}: {unknown}"


def test_text_is_a_drawing_or_what_a_program_prints() -> None:
    unclear = [
        block.place
        for blocks in BLOCKS.values()
        for before, block in zip([None, *blocks], blocks, strict=False)
        if block.language == "text"
        and block.comment != DRAWING
        and (before is None or before.language != "python" or before.title)
    ]

    assert not unclear, f"mark drawings by <!-- {DRAWING} -->: {unclear}"


def test_every_block_of_code_names_its_language() -> None:
    unfenced = {
        name: lines for name, path in PAGES.items() if (lines := indented_code(path.read_text()))
    }

    assert not unfenced, f"put ``` and a language around these lines: {unfenced}"


def test_blocks_that_are_not_run_say_why_and_are_counted() -> None:
    found = Counter(block.why_not_run for block in ALL if block.why_not_run)
    elsewhere = {reason: RUN_ELSEWHERE.fullmatch(reason) for reason in found}
    here = {reason: count for reason, count in found.items() if elsewhere[reason] is None}
    places = [ROOT / one["place"] for one in elsewhere.values() if one]

    assert here == NOT_RUN, "NOT_RUN lists each reason and how many blocks have it"
    assert all(place.exists() for place in places), places


@pytest.mark.parametrize("block", CONFIGURATIONS, ids=lambda block: block.place)
def test_the_server_takes_a_configuration_file(block: Block, tmp_path: Path) -> None:
    key = base64.b64encode(bytes(32)).decode()
    content = block.text.replace("<32 random bytes in base64>", key)

    PARSERS[yaml.safe_load(content)["kind"]](content.encode())


def test_a_file_that_the_reader_writes_is_used() -> None:
    unused = [
        block.place
        for block in ALL
        if block.title and not block.why_not_run and not _is_used(block)
    ]

    assert not unused, f"no later block of the page uses these files: {unused}"


def _is_used(block: Block) -> bool:
    later = [one.text for one in BLOCKS[block.page] if one.line > block.line]
    return any(block.title in text or Path(block.title).stem in text for text in later)


@pytest.mark.parametrize(
    "block", [b for b in ALL if b.language == "mermaid"], ids=lambda b: b.place
)
def test_a_diagram_can_be_drawn(block: Block) -> None:
    assert not mistakes_in(block.text)


def test_javascript_is_quoted_from_an_example() -> None:
    """Browsers run the examples (tests/examples); a page shows some lines of them."""
    scripts = [path.read_text() for kind in ("*.js", "*.html") for path in EXAMPLES.rglob(kind)]
    for block in ALL:
        if block.language == "js":
            assert any(block.text.strip() in script for script in scripts), block.place


def test_json_can_be_read() -> None:
    for block in ALL:
        if block.language == "json":
            json.loads(block.text)


def test_a_script_is_part_of_an_example() -> None:
    """Whose page a browser runs in ``tests/examples``."""
    examples = [path.read_text() for path in (ROOT / "examples").rglob("*.js")]
    scripts = [block for block in ALL if block.language == "js"]

    assert scripts
    assert [one.place for one in scripts if not any(one.text in text for text in examples)] == []
