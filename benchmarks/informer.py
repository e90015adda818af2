"""How fast are informers, listers and work queues, and what do they weigh?

Pods are of 3.7 kB. The start is measured in a process of its own against a server that only sends
prepared bytes, so what is measured is the client.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

from benchmarks.report import CpuTimer, Row
from proreus.api.object import KubeObject
from proreus.api.object_list import ObjectList
from proreus.api.wire import json
from proreus.api.wire.framing import WatchEvent, decode_event
from proreus.client.informer import Indexer, SharedInformer
from proreus.client.workqueue import RateLimitedQueue
from proreus.net.tls.issuing import issue_server, make_authority

PODS = 10_000
EVENTS = 40_000
CHANGES = 60_000
END = '{"k8s.io/initial-events-end":"true"}'


def run() -> list[Row]:
    return [*start_rows(), events_row(), growth_row(), *lister_rows(), workqueue_row()]


def pod(n: int, version: int) -> bytes:
    """3.7 kB, with the parts that a real one has."""
    containers = [
        {
            "name": f"c{c}",
            "image": f"registry.example.com/team/app-{c}:v1.2.{n % 9}",
            "env": [{"name": f"VARIABLE_{i}", "value": f"value-{i}-{n}"} for i in range(26)],
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
        }
        for c in range(2)
    ]
    managed: dict[str, dict[str, dict[str, str]]] = {
        f"f:field-{i}": {"f:nested": {}} for i in range(28)
    }
    return json.encode(
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {
                "name": f"web-{n:05}",
                "namespace": f"ns-{n % 20}",
                "uid": f"00000000-0000-0000-0000-{n:012}",
                "resourceVersion": str(version),
                "labels": {"app": "web", "shard": str(n % 100)},
                "managedFields": [{"manager": "kubelet", "fieldsV1": managed}],
            },
            "spec": {"nodeName": f"node-{n % 1000}", "containers": containers},
            "status": {"phase": "Running", "podIP": f"10.0.{n // 256 % 256}.{n % 256}"},
        }
    )


# Start


def start_rows() -> Iterator[Row]:
    pods = [pod(n, n + 1) for n in range(PODS)]
    for mode, what in (("streamed", "streamed list"), ("listed", "one LIST of 37 MB")):
        with serving(pods) as port:
            words = subprocess.run(
                [sys.executable, "-m", "benchmarks._informer_start", str(port), mode],
                check=True,
                capture_output=True,
                text=True,
            ).stdout.split()
        assert int(words[0]) == PODS
        cpu_s, peak_mb = float(words[1]), float(words[2])
        is_default = mode == "streamed"
        yield Row(f"start on 10,000 pods over TLS, {what}", cpu_s, "s of CPU", 0.35)
        yield Row(
            f"start on 10,000 pods over TLS, {what}, peak of the process",
            peak_mb,
            "MB",
            110 if is_default else None,
        )


@contextlib.contextmanager
def serving(pods: list[bytes]) -> Iterator[int]:
    """A server of prepared bytes in a thread; it knows pods and nothing else."""
    ready: list[int] = []
    started, stop = threading.Event(), threading.Event()

    async def serve() -> None:
        tls = server_tls()
        server = await asyncio.start_server(
            lambda r, w: answer(r, w, pods), "127.0.0.1", 0, ssl=tls
        )
        ready.append(server.sockets[0].getsockname()[1])
        started.set()
        async with server:
            await asyncio.get_running_loop().run_in_executor(None, stop.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    started.wait()
    try:
        yield ready[0]
    finally:
        stop.set()
        thread.join()


def server_tls() -> ssl.SSLContext:
    pair = issue_server(
        make_authority("benchmark", now=time.time()), ["127.0.0.1"], now=time.time()
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context


async def answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pods: list[bytes]
) -> None:
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).split()
            target = head[1].decode()
            if "sendInitialEvents=true" in target:
                await send_stream(writer, pods)
            elif "watch=" in target:
                writer.write(_head("application/json", "Transfer-Encoding: chunked"))
            elif "/pods" in target:
                body = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},'
                await _send(writer, body + b'"items":[' + b",".join(pods) + b"]}")
            else:
                await _send(writer, json.encode(DISCOVERY.get(target.split("?")[0], {})))
    writer.close()


async def send_stream(writer: asyncio.StreamWriter, pods: list[bytes]) -> None:
    writer.write(_head("application/json", "Transfer-Encoding: chunked"))
    for start in range(0, len(pods), 100):
        await _chunk(writer, b"".join(_line(b"ADDED", p) for p in pods[start : start + 100]))
    end = (
        '{"kind":"Pod","apiVersion":"v1","metadata":'
        f'{{"resourceVersion":"99999","annotations":{END}}}}}'
    )
    await _chunk(writer, _line(b"BOOKMARK", end.encode()))


def _line(event: bytes, obj: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (event, obj)


def _head(content_type: str, *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 OK", f"Content-Type: {content_type}", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _chunk(writer: asyncio.StreamWriter, piece: bytes) -> None:
    writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
    await writer.drain()


async def _send(writer: asyncio.StreamWriter, body: bytes) -> None:
    writer.write(_head("application/json", f"Content-Length: {len(body)}") + body)
    await writer.drain()


DISCOVERY = {
    "/api": {"kind": "APIVersions", "apiVersion": "v1", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": "v1",
        "resources": [
            {
                "name": "pods",
                "singularName": "pod",
                "namespaced": True,
                "kind": "Pod",
                "verbs": ["get", "list", "watch"],
            }
        ],
    },
}


# Events


class _Lines:
    """A ListWatch that decodes prepared lines, as a stream does, and then says nothing more."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines

    async def list(self, _: object) -> ObjectList:
        return ObjectList([], "0")

    @contextlib.asynccontextmanager
    async def watch(self, _: object) -> AsyncIterator[AsyncIterator[WatchEvent]]:
        yield self._events()

    async def _events(self) -> AsyncIterator[WatchEvent]:
        for line in self._lines:
            yield decode_event(line)
        await asyncio.Event().wait()


def events_row() -> Row:
    end = b'{"kind":"Pod","metadata":{"resourceVersion":"1","annotations":%b}}' % END.encode()
    lines = [_line(b"BOOKMARK", end)[:-1]]
    lines += [_line(b"ADDED", pod(n % 1000, n + 2))[:-1] for n in range(EVENTS)]

    async def measure() -> float:
        informer = SharedInformer(_Lines(lines), "pods")
        informer.add_handler(lambda obj: None, lambda old, new: None)
        async with asyncio.TaskGroup() as group:
            with CpuTimer() as timer:
                task = group.create_task(informer.run())
                await informer.lister.wait_for_version(EVENTS + 1)
            task.cancel()
        return EVENTS / timer.cpu_s

    return Row(
        "events of 3.7 kB from bytes to a no-op handler, one informer",
        asyncio.run(measure()),
        "/s of CPU",
        50_000,
        higher_is_better=True,
    )


class _Changes(_Lines):
    """10,000 pods, then 60,000 changes of them: a minute of a thousand per second."""

    def __init__(self) -> None:
        self.rss_before_mb = 0.0

    async def _events(self) -> AsyncIterator[WatchEvent]:
        for n in range(PODS):
            yield decode_event(_line(b"ADDED", pod(n, n + 1)))
        end = b'{"kind":"Pod","metadata":{"resourceVersion":"%d","annotations":%b}}'
        yield decode_event(_line(b"BOOKMARK", end % (PODS, END.encode())))
        for n in range(CHANGES):
            if n == PODS:
                self.rss_before_mb = _rss_mb()  # every pod has been replaced once
            if n % 20 == 0:
                await asyncio.sleep(0)
            yield decode_event(_line(b"MODIFIED", pod(n % PODS, PODS + n + 1)))
        await asyncio.Event().wait()


def growth_row() -> Row:
    """In a process of its own: one that has freed memory before would hide growth."""
    grown = subprocess.run(
        [sys.executable, "-c", "from benchmarks.informer import growth_mb; print(growth_mb())"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return Row("memory grown by 50,000 changes of 10,000 pods", float(grown), "MB", 10)


def growth_mb() -> float:
    async def measure() -> float:
        changes = _Changes()
        informer = SharedInformer(changes, "pods", indexes={"node": _by_node})
        informer.add_handler(lambda obj: None, lambda old, new: None)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(informer.run())
            await informer.lister.wait_for_version(PODS + CHANGES, timeout_s=600)
            task.cancel()
        return _rss_mb() - changes.rss_before_mb

    return asyncio.run(measure())


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def _by_node(obj: KubeObject) -> list[str]:
    return [obj.spec.nodeName]


# Reading, queueing


def lister_rows() -> list[Row]:
    indexer = Indexer({"node": _by_node})
    for n in range(PODS):
        obj = KubeObject.from_bytes(pod(n, n))
        indexer.put(obj.key, obj)
    informer = SharedInformer(_Lines([]), "pods")
    informer.lister._indexer = indexer
    lister = informer.lister
    return [
        Row("lister get, 10,000 pods", _time(lambda: lister.get("web-00042", "ns-2")), "µs", 1),
        Row(
            "lister by_index, 10 of 10,000 pods",
            _time(lambda: lister.by_index("node", "node-42")),
            "µs",
            2,
        ),
    ]


def _time(call: Callable[[], object], times: int = 200_000) -> float:
    """Microseconds per call, the best of three."""
    best = float("inf")
    for _ in range(3):
        begun = time.perf_counter()
        for _ in range(times):
            call()
        best = min(best, (time.perf_counter() - begun) / times)
    return best * 1e6


def workqueue_row() -> Row:
    keys = [f"namespace/object-{n}" for n in range(1_000)]

    async def measure() -> float:
        queue: RateLimitedQueue[str] = RateLimitedQueue("benchmark")
        with CpuTimer() as timer:
            for _ in range(200):
                for key in keys:
                    queue.add(key)
                for _ in keys:
                    queue.done(await queue.get())
        return 3 * 200 * len(keys) / timer.cpu_s

    return Row(
        "work queue: operations (add, get, done)",
        asyncio.run(measure()),
        "/s of CPU",
        600_000,
        higher_is_better=True,
    )
