"""What the page's own printers and readers make of values; run where they run, in the browser."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
import yaml
from playwright.async_api import Browser

from tests.dashboard.page.seen import SESSION_LOOP, Page, open_context
from tests.running_server import RunningServer

pytestmark = SESSION_LOOP


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def page(chromium: Browser, cluster: RunningServer) -> AsyncIterator[Page]:
    """Nobody is logged in, nothing is changed: one is enough."""
    context = await open_context(chromium)
    yield await Page.open(context, cluster.url)
    await context.close()


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1, "b": [1, "1", "yes", "on", "null", "~", "", " x ", "0x1f", "1e3", "12:30", ".5"]},
        {"text": "two\nlines\n", "bare": "two\nlines", "spaces": "  lead\n", "tab": "a\tb\nc"},
        {"empty": {}, "none": None, "list": [], "nested": [[1, [2]], {"a": [{"b": {"c": None}}]}]},
        {"key: odd": "value: odd", "#": "# no comment", "- x": "- y", "*": "&a", "%": "@b", "1": 1},
        {"long": "x" * 300, "quote": "it's \"so\"", "back": "\\n", "nul": "\x00", "del": "\x7f"},
        {"line": "a\u2028b\u2029c\ufeff", "emoji": "🎈 ok", "cr": "a\r\nb", "trail": "a \nb\n\n"},
        {"list": ["a\nb\n", {"text": "c\nd"}], "end": "x\n\n\n"},
        {"float": 1.5, "big": 12345678901, "negative": -3, "flags": [True, False]},
        "alone", 7, [], [{"name": "first"}, {"name": "second"}],
    ],
)  # fmt: skip
async def test_yaml_that_is_printed_is_read_as_the_same(page: Page, value: Any) -> None:
    printed = await page.module("text/yaml.js", f"m.toYaml({json.dumps(value)})")

    assert isinstance(printed, str)
    assert yaml.safe_load(printed) == value


@pytest.mark.parametrize(
    ("old", "now", "shown"),
    [
        ("abc", "abc", [" a", " b", " c"]),
        ("", "ab", ["+a", "+b"]),
        ("ab", "", ["-a", "-b"]),
        ("abcd", "axcd", [" a", "-b", "+x", " c", " d"]),
        ("abcabba", "cbabac", None),
        ("abcdef", "fedcba", None),
    ],
)
async def test_a_diff_turns_one_text_into_the_other(
    page: Page, old: str, now: str, shown: list[str] | None
) -> None:
    call = f"m.diffLines({json.dumps([*old])}, {json.dumps([*now])})"
    lines = await page.module("text/diff.js", f"{call}.map(one => one.sign + one.text)")

    assert isinstance(lines, list)
    assert [line[1:] for line in lines if line[0] != "+"] == [*old]
    assert [line[1:] for line in lines if line[0] != "-"] == [*now]
    assert shown is None or lines == shown


async def test_changes_of_two_people_are_merged_and_contradictions_named(page: Page) -> None:
    base = {"a": 1, "b": {"c": 1, "d": 1}, "list": [{"name": "x", "v": 1}, {"name": "y", "v": 1}]}
    mine = {"a": 2, "b": {"c": 2}, "list": [{"name": "x", "v": 2}, {"name": "y", "v": 1}]}
    theirs = {"a": 1, "b": {"c": 3, "d": 1}, "list": [{"name": "x", "v": 1}, {"name": "y", "v": 3}]}

    call = f"m.merge({json.dumps(base)}, {json.dumps(mine)}, {json.dumps(theirs)})"
    merged = await page.module("text/merge.js", call)

    assert merged == {
        "value": {"a": 2, "b": {"c": 2}, "list": [{"name": "x", "v": 2}, {"name": "y", "v": 3}]},
        "conflicts": ["b.c"],
    }


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("hello\r\nworld", "hello\nworld"),
        ("0123456789abc", "0123456789\nabc"),
        ("12345\b\b\x1b[KX", "123X"),
        ("a\tb", "a       b"),
        ("\x1b[2;3Hx\x1b[Hy", "y\n  x"),
        ("one\r\ntwo\r\nthree\r\nfour", "two\nthree\nfour"),
        ("keep\x1b[?1049hother\x1b[?1049l", "keep"),
        ("a\r\nb\r\nc\x1b[1;1H\x1b[L", "\na\nb"),
        ("abcdef\x1b[1;2H\x1b[2P", "adef"),
        ("abc\x1b[1;1H\x1b[@", " abc"),
        ("\x1b]0;title\x07text", "text"),
        ("日本x", "日本x"),
        ("\x1b[31mred\x1b[0m plain", "red plain"),
        ("abc\x1b[2J\x1b[Hnew", "new"),
    ],
)
async def test_a_terminal_shows_what_programs_send(page: Page, sent: str, shown: str) -> None:
    script = f"""async () => {{
        const {{ Screen }} = await import('./assets/terminal/screen.js');
        const {{ Parser }} = await import('./assets/terminal/parser.js');
        const screen = new Screen(10, 3);
        new Parser(screen, () => {{}}).write({json.dumps(sent)});
        return screen.text();
    }}"""

    assert await page.tab.evaluate(script) == shown


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s"), (600, "10m"), (7200, "120m"),
     (3 * 3600, "3h"), (3 * 3600 + 60, "3h1m"), (2 * 86400, "2d"), (10 * 86400, "10d")],
)  # fmt: skip
async def test_ages_are_written_as_kubectl_writes_them(page: Page, seconds: int, said: str) -> None:
    assert await page.module("text/format.js", f"m.age(0, {seconds * 1000})") == said


async def test_rows_that_change_stay_in_order_without_being_sorted_again(page: Page) -> None:
    script = """async () => {
        const { OrderedRows, compareCells } = await import('./assets/text/ordered_rows.js');
        const compare = (a, b) => compareCells(a.key, b.key) || compareCells(a.uid, b.uid);
        const rows = new OrderedRows(compare);
        let seed = 7;
        const random = below => (seed = (seed * 48271) % 2147483647) % below;
        for (let turn = 0; turn < 300; turn++) {
            for (let change = random(5); change >= 0; change--) {
                const uid = `u${random(40)}`;
                if (random(4) === 0) rows.remove(uid);
                else rows.set({ uid, key: random(20) });
            }
            if (random(30) === 0) rows.filterBy(row => row.key % 2 === turn % 2);
            const found = rows.flush().map(row => row.uid).join();
            const sorted = [...rows.all.values()].filter(rows.accepts).sort(compare);
            if (found !== sorted.map(row => row.uid).join()) return `turn ${turn}: ${found}`;
        }
        return 'in order';
    }"""

    assert await page.tab.evaluate(script) == "in order"


async def test_an_owner_that_comes_late_gets_what_it_owns(page: Page) -> None:
    script = """async () => {
        const { Forest } = await import('./assets/views/ownership.js');
        const forest = new Forest();
        const member = (uid, kind, owner = '') => ({
            uid, kind, owner, name: uid, namespace: 'default', group: '', resource: kind,
            ownedBy: '', ready: '1/1', status: '', info: '', created: '',
        });
        const drawn = () => forest.rows({ namespace: '', filter: '', hasOld: true })
            .map(row => '-'.repeat(row.depth) + row.member.uid).join(' ');
        const seen = [];
        forest.set(member('pod-b', 'Pod', 'set'));
        forest.set(member('pod-a', 'Pod', 'set'));
        forest.set(member('alone', 'Pod'));
        seen.push(drawn());
        forest.set(member('set', 'ReplicaSet', 'deployment'));
        seen.push(drawn());
        forest.set(member('deployment', 'Deployment'));
        seen.push(drawn());
        forest.remove('set');
        seen.push(drawn());
        forest.set(member('pod-a', 'Pod'));
        forest.remove('pod-b');
        seen.push(drawn());
        return seen;
    }"""

    assert await page.tab.evaluate(script) == [
        "alone pod-a pod-b",
        "set -pod-a -pod-b alone",
        "deployment -set --pod-a --pod-b alone",
        "deployment alone pod-a pod-b",
        "deployment alone pod-a",
    ]
