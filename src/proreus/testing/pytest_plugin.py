"""The pytest plugin: a server per session, a fork of its state per test.

Fixtures, none of which costs anything until a test asks for it:

- ``proreus_server``: for ``async`` tests (pytest-asyncio, anyio), see ``threaded.SharedServer``;
- ``proreus_blocking_server``: the same for plain tests, see ``threaded.BlockingServer``;
- ``proreus_client``, ``proreus_blocking_client``: the administrator's;
- ``proreus_kubeconfig``: a path, for programs and other clients; the server has TLS then;
- ``proreus_cluster``, ``proreus_blocking_cluster``: with controllers, scheduler and kubelet;
- ``proreus_session_manifests``: to be overridden; paths or objects that every test finds;
- ``proreus_session_server``: the server of tests without TLS and on the system's clock.

``@pytest.mark.proreus(clock="virtual", controllers=["deployment"], scheduler=False, nodes=2)`` says
which server and which parts a test wants. ``proreus_manifests`` in pytest's configuration names
files and folders that are loaded once per session. ``--proreus-record=FOLDER`` keeps a record of
each test (``records``); that of a test that failed is kept in any case, and named in its report.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from proreus.blocking import Client as BlockingClient
    from proreus.client import Client
    from proreus.testing.manifests import Manifests
    from proreus.testing.threaded import BlockingServer, SharedServer

_MARK = "proreus"
_USER_AGENT = "test"  # so that what a test asks can be told from what its program does
_MANIFESTS = "proreus_manifests"
_RECORD = "--proreus-record"
_FAILED = pytest.StashKey[bool]()
_OPTIONS = ("clock", "controllers", "scheduler", "nodes", "manifests")


class _Kind(NamedTuple):
    """Servers of a session differ in these."""

    has_tls: bool
    is_virtual: bool


class SessionServers:
    """The servers of one test process, started when first asked for."""

    def __init__(self, folder: Path, manifests: list[Manifests]) -> None:
        self._folder = folder
        self._manifests = manifests
        self._servers: dict[_Kind, BlockingServer] = {}
        self._opened = ExitStack()

    def server(self, kind: _Kind) -> BlockingServer:
        if kind not in self._servers:
            self._servers[kind] = self._start(kind)
        return self._servers[kind]

    def close(self) -> None:
        self._opened.close()

    def _start(self, kind: _Kind) -> BlockingServer:
        from proreus.aio.clock import SystemClock
        from proreus.server.config import ServerConfig
        from proreus.testing.threaded import blocking_server
        from proreus.testing.virtual_clock import VirtualClock

        config = ServerConfig()
        if kind.has_tls:
            folder = self._folder / f"server-{len(self._servers)}"
            config = ServerConfig(data_dir=folder, tls=True, kubeconfig=folder / "kubeconfig")
        clock = VirtualClock if kind.is_virtual else SystemClock
        server = self._opened.enter_context(blocking_server(config, clock, in_memory=True))
        for manifests in self._manifests:
            server.load(manifests)
        return server


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        _MANIFESTS, "manifests that every test of proreus' server finds there", type="paths"
    )
    parser.getgroup("proreus").addoption(
        _RECORD,
        nargs="?",
        const=".proreus-records",
        metavar="FOLDER",
        help="keep a record of each test with a server of proreus, for proreus replay",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{_MARK}({', '.join(_OPTIONS)}): which server and which parts a test wants"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


def _keep_record(request: pytest.FixtureRequest, server: BlockingServer, since: int) -> None:
    """If it was asked for, or the test has failed."""
    test = request.node
    folder = request.config.getoption(_RECORD)
    if folder is None:
        if not test.stash.get(_FAILED, False):
            return
        factory: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
        folder = factory.getbasetemp() / "proreus-records"
    path = Path(folder) / f"{re.sub(r'[^A-Za-z0-9._-]+', '_', test.nodeid)}.proreus"
    server.keep(path, since=since, title=test.nodeid)
    test.add_report_section("teardown", "proreus", f"record kept: proreus replay {path}")


def _options(request: pytest.FixtureRequest) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers(_MARK))):
        found.update(mark.kwargs)
    if unknown := set(found) - set(_OPTIONS):
        raise pytest.UsageError(f"@pytest.mark.{_MARK} knows no {', '.join(sorted(unknown))}")
    return found


@pytest.fixture(scope="session")
def proreus_session_manifests() -> list[Manifests]:
    """What every test finds: override it in a ``conftest.py``. Paths or objects."""
    return []


@pytest.fixture(scope="session")
def _proreus_sessions(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    proreus_session_manifests: list[Manifests],
) -> Iterator[SessionServers]:
    given: list[Manifests] = [Path(path) for path in request.config.getini(_MANIFESTS)]
    sessions = SessionServers(
        tmp_path_factory.mktemp("proreus"), [*given, *proreus_session_manifests]
    )
    try:
        yield sessions
    finally:
        sessions.close()


@pytest.fixture(scope="session")
def proreus_session_server(_proreus_sessions: SessionServers) -> BlockingServer:
    """The server of tests without ``proreus_kubeconfig`` and on the system's clock: what a fixture
    of the session does there, each of them finds."""
    return _proreus_sessions.server(_Kind(has_tls=False, is_virtual=False))


@pytest.fixture
def proreus_blocking_server(
    request: pytest.FixtureRequest, _proreus_sessions: SessionServers
) -> Iterator[BlockingServer]:
    """The session's server, for a plain test; what the test does there is undone afterwards."""
    options = _options(request)
    has_tls = "proreus_kubeconfig" in request.fixturenames
    server = _proreus_sessions.server(_Kind(has_tls, options.get("clock") == "virtual"))
    with server.fork():
        server.requests.clear()
        since = server.revision
        if "manifests" in options:
            server.load(options["manifests"])
        yield server
        _keep_record(request, server, since)


@pytest.fixture
def proreus_server(proreus_blocking_server: BlockingServer) -> SharedServer:
    """The session's server, for an ``async`` test; what the test does is undone afterwards."""
    return proreus_blocking_server.shared()


@pytest.fixture
def proreus_blocking_client(proreus_blocking_server: BlockingServer) -> Iterator[BlockingClient]:
    with proreus_blocking_server.blocking_client(user_agent=_USER_AGENT) as client:
        yield client


@pytest.fixture
def proreus_client(request: pytest.FixtureRequest, proreus_server: SharedServer) -> Client:
    """Of the test's own loop, and closed when the test's coroutine ends: a loop may be gone before
    a fixture is."""
    test = request.node
    if not inspect.iscoroutinefunction(test.obj):
        raise pytest.UsageError("proreus_client is for async tests: take proreus_blocking_client")
    client = proreus_server.client(user_agent=_USER_AGENT)
    test.obj = _closing(test.obj, client)
    return client


def _closing(test: Any, client: Client) -> Any:
    @functools.wraps(test)
    async def closing(*args: Any, **fixtures: Any) -> None:
        async with client:
            await test(*args, **fixtures)

    return closing


@pytest.fixture
def proreus_kubeconfig(
    proreus_blocking_server: BlockingServer, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The administrator's, and KUBECONFIG during the test."""
    path = proreus_blocking_server.kubeconfig
    assert path is not None, "the server of a test that asks for it has TLS"
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


@pytest.fixture
def proreus_blocking_cluster(
    request: pytest.FixtureRequest, proreus_blocking_server: BlockingServer
) -> Iterator[BlockingServer]:
    """The server with the parts of a cluster beside it, which the mark chooses."""
    options = _options(request)
    with proreus_blocking_server.cluster_parts(
        controllers=options.get("controllers", True),
        scheduler=options.get("scheduler", True),
        nodes=options.get("nodes", 1),
    ):
        yield proreus_blocking_server


@pytest.fixture
def proreus_cluster(proreus_blocking_cluster: BlockingServer) -> SharedServer:
    return proreus_blocking_cluster.shared()
