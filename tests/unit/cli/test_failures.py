"""Why a server cannot run, in one sentence."""

from __future__ import annotations

import asyncio
import errno
import socket
import subprocess
import sys
from pathlib import Path

import click
import pytest

from proreus.cli.failures import reported_in_one_line, sentence
from proreus.server.app import ApiServer
from proreus.server.authn.options import AuthenticationOptions
from proreus.server.config import ConfigInvalid, ServerConfig


def said(config: ServerConfig) -> str:
    with pytest.raises(click.ClickException) as refused, reported_in_one_line(config):
        asyncio.run(_start_and_end(config))
    return refused.value.message


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"only-a-token\n", 'line 1 is not token,user,uid or token,user,uid,"group,group"'),
        (b"# users\nt,alice,1\n,bob,2\n", "line 3 is not token,user,uid or"),
        (b"t, ,1\n", "line 1 is not token,user,uid or"),
        (b"\xff\xfe\x00", "not a text in UTF-8"),
    ],
)
def test_a_tokens_file_that_names_no_users(tmp_path: Path, text: bytes, why: str) -> None:
    file = tmp_path / "tokens.csv"
    file.write_bytes(text)

    message = said(ServerConfig(authentication=AuthenticationOptions(tokens_file=file)))

    assert message.startswith(f"tokens file {file}: ")
    assert why in message


def test_a_tokens_file_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "tokens.csv"

    assert (
        said(ServerConfig(authentication=AuthenticationOptions(tokens_file=file)))
        == f"{file}: no such file or directory"
    )
    assert (
        said(ServerConfig(authentication=AuthenticationOptions(tokens_file=tmp_path)))
        == f"{tmp_path}: is a directory"
    )


@pytest.mark.parametrize("urls", ["foo", "foo:2379", "http://", "http://a,https://b", "ftp://a"])
def test_addresses_of_etcd_that_are_none(urls: str) -> None:
    message = said(ServerConfig(etcd=tuple(urls.split(","))))

    assert message.startswith("etcd endpoint")


def test_etcd_without_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("proreus.server.storage.etcd")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "google.protobuf", None)

    message = said(ServerConfig(etcd=("http://127.0.0.1:1",)))

    assert message == "storage in etcd needs protobuf: pip install 'proreus[etcd]'"


def test_a_data_folder_that_is_a_file_or_in_one(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()

    assert said(ServerConfig(data_dir=file)) == f"{file}: file exists"
    assert said(ServerConfig(data_dir=file / "data")) == f"{file / 'data'}: not a directory"


@pytest.mark.parametrize("name", ["objects.db", "admin.token", "tls/ca.key", "tls", "kubeconfig"])
def test_a_folder_in_the_place_of_a_file_and_the_reverse(tmp_path: Path, name: str) -> None:
    at = tmp_path / name
    at.parent.mkdir(exist_ok=True)
    if name == "tls":
        at.touch()
    else:
        at.mkdir()
    if name == "tls/ca.key":
        (tmp_path / "tls" / "ca.crt").touch()

    message = said(ServerConfig(data_dir=tmp_path, tls=True, kubeconfig=tmp_path / "kubeconfig"))

    assert "Errno" not in message
    assert str(tmp_path) in message


@pytest.mark.parametrize("torn", ["ca.crt", "ca.key"])
def test_an_authority_that_is_torn(tmp_path: Path, torn: str) -> None:
    config = ServerConfig(data_dir=tmp_path, tls=True)
    asyncio.run(_start_and_end(config))
    (tmp_path / "tls" / torn).write_bytes(b"torn")

    assert said(config) == (
        f"{tmp_path / 'tls' / 'ca.crt'} and ca.key are not a certificate and its key; "
        "remove both to have new ones made"
    )


@pytest.mark.parametrize("torn", ["server.key", "admin.key", "kubelet-client.key", "server.crt"])
def test_what_the_authority_signed_is_made_anew_if_torn(tmp_path: Path, torn: str) -> None:
    config = ServerConfig(data_dir=tmp_path, tls=True)
    asyncio.run(_start_and_end(config))
    (tmp_path / "tls" / torn).write_bytes(b"torn")

    asyncio.run(_start_and_end(config))

    assert (tmp_path / "tls" / torn).read_bytes() != b"torn"


async def _start_and_end(config: ServerConfig) -> None:
    async with ApiServer(config):
        pass


def test_an_address_that_is_not_of_this_machine(tmp_path: Path) -> None:
    config = ServerConfig(data_dir=tmp_path, tls=True, bind_address="203.0.113.7", port=6443)

    assert said(config) == "203.0.113.7:6443 is not an address of this machine"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            PermissionError(errno.EACCES, "permission denied"),
            "127.0.0.1:443 is not permitted to this user; ports from 1024 on are",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "/srv/data"),
            "/srv/data: permission denied",
        ),
        (
            OSError(errno.EROFS, "Read-only file system", b"/srv/data"),
            "/srv/data: read-only file system",
        ),
        (
            socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
            "127.0.0.1:443 is not an address to listen at: name or service not known",
        ),
        (OSError(errno.EMFILE, "Too many open files"), "too many open files"),
        (ConfigInvalid("as it is"), "as it is"),
    ],
)
def test_failures_of_the_machine_name_what_they_are_about(
    error: OSError | ConfigInvalid, text: str
) -> None:
    assert sentence(error, ServerConfig(port=443)) == text


def test_our_own_faults_keep_their_traceback() -> None:
    with pytest.raises(LookupError), reported_in_one_line(ServerConfig()):
        raise LookupError("ours")


@pytest.mark.parametrize("command", ["server", "up"])
def test_no_traceback_reaches_the_terminal(tmp_path: Path, command: str) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "proreus.cli.main", command]
        + ["--data-dir", str(tmp_path), "--port", "0", "--etcd", "foo"],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: etcd endpoint")
    assert result.stderr.count("\n") == 1
