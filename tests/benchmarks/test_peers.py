"""Other people's programs are measured as ours are."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from benchmarks._peers import bare_etcd
from benchmarks._peers.kube_apiserver import running_kube_apiserver
from benchmarks.api_server import pod
from benchmarks.api_server._load import Connection, Target, body_of, each
from proreus.server.storage.etcd import messages
from tests.real_etcd import started_etcd

# Knows the flags that a kube-apiserver is given and no others, and serves as one would.
STAND_IN = """#!{python}
import argparse, os
parser = argparse.ArgumentParser()
for name in ("etcd-servers", "secure-port", "bind-address", "advertise-address", "cert-dir",
             "token-auth-file", "authorization-mode", "disable-admission-plugins",
             "service-account-issuer", "service-account-key-file",
             "service-account-signing-key-file", "service-cluster-ip-range"):
    parser.add_argument("--" + name, required=True)
given = parser.parse_args()
os.execv("{python}", [
    "{python}", "-m", "proreus.cli.main", "server",
    "--data-dir", given.cert_dir, "--port", given.secure_port, "--etcd", given.etcd_servers,
    "--bind-address", given.bind_address, "--token-auth-file", given.token_auth_file,
    "--disable-admission-plugins", given.disable_admission_plugins,
    "--service-account-signing-key-file", given.service_account_signing_key_file,
])
"""


def test_a_server_with_kube_apiservers_flags_answers_the_load(tmp_path: Path) -> None:
    binary = tmp_path / "kube-apiserver"
    binary.write_text(STAND_IN.format(python=sys.executable))
    binary.chmod(0o755)

    with (
        started_etcd() as etcd,
        running_kube_apiserver(binary, etcd.endpoints[0]) as server,
    ):
        target = Target(server.port, server.token)
        asyncio.run(create_pods(target, 3))
        kept = etcd.etcdctl("get", "--prefix", "--keys-only", "/registry/pods/")

        assert server.cpu_s() > 0
    assert kept.split() == [f"/registry/pods/default/web-{n:05}" for n in range(3)]


async def create_pods(target: Target, count: int) -> None:
    path = "/api/v1/namespaces/default/pods"
    async with target.connections(2) as connections:
        await each(connections, [target.request("POST", path, pod(n)) for n in range(count)])


def test_a_kube_apiserver_that_ends_is_an_error_with_what_it_said(tmp_path: Path) -> None:
    binary = tmp_path / "kube-apiserver"
    binary.write_text("#!/bin/sh\necho no such flag >&2\nexit 1\n")
    binary.chmod(0o755)

    with (
        pytest.raises(RuntimeError, match="no such flag"),
        running_kube_apiserver(binary, "http://127.0.0.1:1"),
    ):
        pass


async def test_a_bare_client_writes_to_etcd_and_reads_the_events() -> None:
    writes, events = await bare_etcd.creates_and_events(b"value", count=20, in_flight=5)

    assert writes.wall_s > 0 and events.wall_s > 0


def test_the_bare_clients_transaction_creates_a_key_that_is_not_there() -> None:
    request = messages.TxnRequest.FromString(bare_etcd.create_request(b"key", b"v" * 300))

    (compare,), (operation,) = request.compare, request.success
    assert (compare.target, compare.key, compare.mod_revision) == (messages.COMPARE_MOD, b"key", 0)
    assert (operation.request_put.key, operation.request_put.value) == (b"key", b"v" * 300)


def test_fields_of_a_message_are_counted_without_decoding_it() -> None:
    events = [{"kv": {"key": b"a", "value": b"v" * 300}}, {"kv": {"key": b"b"}}]
    response = messages.WatchResponse(watch_id=7, created=True, events=events)

    numbers = list(bare_etcd.field_numbers(response.SerializeToString()))

    assert numbers == [2, 3, 11, 11]


class Unsent(asyncio.Transport):
    """Takes what is written and sends nothing."""

    def write(self, data: object) -> None:
        pass


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    "answer",
    [
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n2\r\n0}\r\n0\r\n\r\n',
        b'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{"a":0}',
    ],
    ids=["chunked", "with a length"],
)
async def test_an_answer_is_whole_however_it_is_cut(answer: bytes, size: int) -> None:
    connection = Connection()
    connection.connection_made(Unsent())

    asking = asyncio.ensure_future(connection.ask(b"GET"))
    await asyncio.sleep(0)
    for at in range(0, len(answer), size):
        connection.data_received(answer[at : at + size])

    assert await asyncio.wait_for(asking, 60) == answer
    assert body_of(answer) == b'{"a":0}'
