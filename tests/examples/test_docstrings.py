"""Every example in a docstring runs as it stands."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import textwrap
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from prometheus_client import CollectorRegistry

import proreus
import proreus.client as api
from proreus.client import Controller, LeaderElector, LeaseLock, SharedInformerFactory
from proreus.client.activity_report import reported
from proreus.client.controller.metrics import ControllerMetrics
from proreus.client.typed_schema import rules
from proreus.embedded import Store
from proreus.server.config import ServerConfig
from proreus.testing.server import RunningServer, running_server
from proreus.testing.tcp_proxy import TcpProxy
from proreus.testing.virtual_clock import VirtualClock

SOURCE = Path(proreus.__file__).parent
_STRING = re.compile(r'"""(.*?)"""', re.DOTALL)
_BLOCK = re.compile(r"(?:^|\n\n)((?: {4}.*(?:\n|$)|\n(?= {4}))+)")


@cache
def examples() -> Mapping[str, str]:
    """Indented blocks of docstrings that are Python and call or define something, by place."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text()
        # Nearly all files have none, and every process that collects tests parses what is left.
        if not any(_BLOCK.search(inspect.cleandoc(found)) for found in _STRING.findall(source)):
            continue
        for node in ast.walk(ast.parse(source)):
            if not isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            ):
                continue
            for block in _BLOCK.findall(ast.get_docstring(node) or ""):
                code = textwrap.dedent(block)
                if _is_program(code):
                    name = getattr(node, "name", "")
                    found[f"{path.relative_to(SOURCE)}:{name}".rstrip(":")] = code
    return found


def _is_program(code: str) -> bool:
    try:
        tree = compile(code, "example", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:
        return False
    assert isinstance(tree, ast.Module)
    return not all(
        isinstance(line, ast.Expr) and not isinstance(line.value, ast.Call | ast.Await)
        for line in tree.body
    )


@dataclass
class Port:
    name: str


@dataclass
class DatabaseStatus:
    ready: bool = False


async def nothing(*_: Any) -> None:
    pass


@asynccontextmanager
async def surroundings(server: RunningServer) -> AsyncIterator[dict[str, Any]]:
    """The names that examples take for granted."""
    async with server.client() as client, SharedInformerFactory(client) as informers:
        leases = client.coordination_v1.leases
        yield {
            **{name: getattr(api, name) for name in api.__all__},
            "Annotated": Annotated,
            "ControllerMetrics": ControllerMetrics,
            "DatabaseStatus": DatabaseStatus,
            "Literal": Literal,
            "Port": Port,
            "REGISTRY": CollectorRegistry(),
            "Store": Store,
            "TcpProxy": TcpProxy,
            "VirtualClock": VirtualClock,
            "client": client,
            "connect": lambda *_: client,
            "controller": Controller(nothing, informers.informer("pods")),
            "dataclass": dataclass,
            "elector": LeaderElector(LeaseLock(leases, "default", "x"), identity="me"),
            "field": field,
            "informer": informers.informer("pods"),
            "leases": leases,
            "pod": {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}},
            "reported": reported,
            "rules": rules,
            "running_server": running_server,
            "server_port": int(server.url.rpartition(":")[2]),
            "workload": nothing,
        }


@pytest.mark.parametrize("place", examples())
async def test_an_example_in_a_docstring_runs(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(examples()[place], place, "exec", flags, dont_inherit=True)
    config = ServerConfig(data_dir=tmp_path, tls=True, kubeconfig=tmp_path / "kubeconfig")
    async with running_server(config) as server, surroundings(server) as names:
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        monkeypatch.chdir(tmp_path)
        async with asyncio.timeout(60):
            if code.co_flags & inspect.CO_COROUTINE:
                await eval(code, names)
            else:
                await asyncio.to_thread(exec, code, names)
