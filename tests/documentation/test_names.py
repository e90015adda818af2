"""Names that the pages speak of exist, so that a table of "this is that" leads nobody astray."""

from __future__ import annotations

import inspect
import pkgutil
import re

import pytest

import benchmarks
import proreus.blocking
import proreus.client
from proreus.client.operator import ReconcilerOptions
from proreus.testing import RunningServer, TcpProxy
from tests.documentation.blocks import DOCS

PAGE = (DOCS / "coming-from.md").read_text()
ROW = re.compile(r"^\| .+? \| (?P<here>.+) \|$", re.M)
CODE = re.compile(r"`([^`]+)`")
CALLED = re.compile(r"(?<![\w.])(?:(?P<owner>[\w]+)\.|\.)?(?P<name>[A-Za-z_]\w+)(?=\(|$)")
# What stands for a value of a public class in the tables.
OWNERS = {
    "Client": "Client", "client": "Client", "informers": "SharedInformerFactory",
    "lister": "Lister", "resource": "ResourceClient", "site": "Reconciliation",
    "Notification": "Notification",
}  # fmt: skip


def names_of(owner: str) -> set[str]:
    found = getattr(proreus.client, owner)
    fields = set(getattr(found, "__dataclass_fields__", {})) | set(dir(found))
    return fields | {name for name, _ in inspect.getmembers(found)}


def called_in_tables() -> list[tuple[str, str]]:
    cells = [row["here"] for row in ROW.finditer(PAGE)]
    codes = [code for cell in cells for code in CODE.findall(cell)]
    return sorted({(m["owner"] or "", m["name"]) for c in codes for m in CALLED.finditer(c)})


@pytest.mark.parametrize(("owner", "name"), called_in_tables(), ids=".".join)
def test_a_name_that_is_said_to_be_here_is_here(owner: str, name: str) -> None:
    if owner:
        assert owner not in OWNERS or name in names_of(OWNERS[owner])
        return
    public = {
        *proreus.client.__all__,
        *proreus.blocking.__all__,
        *ReconcilerOptions.__annotations__,
    }
    assert name in public | names_of("ResourceClient") | names_of("SharedInformer") | OTHERS


# Arguments, and words of the language.
OTHERS = {
    "address", "leader_election", "running_server", "None", "final_state_known", "on_notification",
    "is_initial", "LeaderElector", "run", "indexes", "transform", "lister", "site",
}  # fmt: skip


def test_every_verb_of_the_testing_kit_has_a_page() -> None:
    titles = [path.read_text().partition("\n")[0] for path in (DOCS / "testing").glob("*.md")]
    paged = {name for title in titles for name in CODE.findall(title)}
    verbs = {
        name
        for kind in (RunningServer, TcpProxy)
        for name, member in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }

    assert verbs - paged == {"client", "config", "proxy"}, "of which the pages speak throughout"
    assert paged - verbs == {"requests"}


def test_every_benchmark_on_the_page_on_performance_can_be_run() -> None:
    page = (DOCS / "performance.md").read_text()
    table = page.partition("| Benchmark | Asks |")[2].partition("\n\n")[0]
    listed = {name for row in table.splitlines()[2:] for name in CODE.findall(row.split("|")[1])}

    assert listed and listed <= {
        module.name for module in pkgutil.iter_modules(benchmarks.__path__)
    }
