"""What checks the pages finds what is wrong with them."""

from __future__ import annotations

import pytest

from tests.documentation.blocks import Block, blocks_of, indented_code
from tests.documentation.commands import commands_of
from tests.documentation.diagrams import mistakes_in
from tests.documentation.transcript import Revisions, difference


def test_a_page_that_says_what_is_printed_is_right() -> None:
    said, seen = "a …\n…\nrevision 120\n", "a b\nc\nd\nrevision 7\n"

    assert not difference(said, seen, Revisions())


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("one\n", "two\n"),
        ("one\n", "one\ntwo\n"),
        ("one\ntwo\n", "one\n"),
        ("a … c\n", "a b\n"),
        ("…\nlast\n", "first\n"),
    ],
)
def test_a_page_that_says_something_else_is_wrong(said: str, seen: str) -> None:
    assert difference(said, seen, Revisions())


def test_revisions_of_a_page_have_the_order_of_those_that_are_seen() -> None:
    revisions = Revisions()

    assert not difference("v 120\nv 121\n", "v 7\nv 9\n", revisions)
    assert not difference("v 120\n", "v 7\n", revisions)
    assert difference("v 119\n", "v 8\n", revisions)
    assert difference("v 121\n", "v 10\n", revisions)


def test_a_list_may_be_newer_than_its_objects_since_the_server_renews_its_lease() -> None:
    version = '"metadata":{"resourceVersion":"%d"}'
    listed = f'{{"kind":"AList",{version},"items":[{{{version}}}]}}\n'
    marked = f'{{"type":"BOOKMARK","object":{{"kind":"A",{version}}}}}\n'
    revisions = Revisions()

    assert not difference("v 120\n", "v 7\n", revisions)
    assert not difference(listed % (120, 120), listed % (8, 7), revisions)
    assert not difference(marked % 121, marked % 9, revisions)
    assert not difference("v 121\n", "v 9\n", revisions)
    assert difference(listed % (121, 120), listed % (8, 7), revisions), "older than what it has"
    assert difference(listed % (121, 121), listed % (10, 10), revisions), "of an object"


def test_a_command_goes_with_what_it_prints() -> None:
    block = Block("page", 1, "console", "$ a \\\n>  b\nout\n$ c <<END\n> x\n> END\n$ d\n")

    assert [(one.text, one.printed) for one in commands_of(block)] == [
        ("a \\\n b", "out\n"),
        ("c <<END\nx\nEND", ""),
        ("d", ""),
    ]


def test_blocks_have_language_title_and_comment() -> None:
    page = '<!-- not run: because -->\n```yaml title="a.yaml"\nx: 1\n```\n'

    (block,) = blocks_of("page", page)

    assert (block.language, block.title, block.text) == ("yaml", "a.yaml", "x: 1\n")
    assert block.why_not_run == "because"


def test_code_without_a_fence_is_found() -> None:
    assert indented_code("Text:\n\n    code\n\n- item\n\n    more of it\n") == [3]


@pytest.mark.parametrize(
    "diagram",
    [
        "pie\n",
        "flowchart LR\n    a -> b\n",
        "sequenceDiagram\n    loop for ever\n    A->>B: hello\n",
        "sequenceDiagram\n    A->B hello\n",
        "stateDiagram-v2\n    a -> b\n",
    ],
)
def test_a_wrong_diagram_is_found(diagram: str) -> None:
    assert mistakes_in(diagram)
