"""A server with an encryption configuration: no secret is on disk, keys can be rotated."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
import yaml

from proreus.client import Client
from proreus.server.config import ConfigInvalid, ServerConfig
from proreus.testing.server import running_server

PASSWORD = b"correct horse battery staple"
SECRET = {
    "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "default"},
    "data": {"password": base64.b64encode(PASSWORD).decode()},
}  # fmt: skip


def write_config(path: Path, *providers: dict[str, object]) -> None:
    entry = {"resources": ["secrets"], "providers": list(providers)}
    header = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration"}
    path.write_text(yaml.safe_dump({**header, "resources": [entry]}))


def provider(kind: str, name: str) -> dict[str, object]:
    return {kind: {"keys": [{"name": name, "secret": base64.b64encode(os.urandom(32)).decode()}]}}


def on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("objects.db*"))


async def test_a_secret_is_on_disk_under_the_newest_key_only(tmp_path: Path) -> None:
    path, folder = tmp_path / "encryption.yaml", tmp_path / "data"
    config = ServerConfig(data_dir=folder, encryption_config=path)
    old, new = provider("aescbc", "old"), provider("secretbox", "new")

    write_config(path, old, {"identity": {}})
    async with running_server(config) as server, Client(server.config()) as client:
        await client.core_v1.secrets("default").create(SECRET)
    written = on_disk(folder)
    assert b"k8s:enc:aescbc:v1:old:" in written
    assert base64.b64encode(PASSWORD) not in written

    write_config(path, new, old)
    async with running_server(config) as server, Client(server.config()) as client:
        secrets = client.core_v1.secrets("default")
        found = await secrets.get("a")
        assert found.data["password"] == SECRET["data"]["password"]  # type: ignore[index]
        before = found.resource_version
        assert (await secrets.replace(found)).resource_version != before

    write_config(path, new)
    async with running_server(config) as server, Client(server.config()) as client:
        found = await client.core_v1.secrets("default").get("a")
        assert found.data["password"] == SECRET["data"]["password"]  # type: ignore[index]
    assert b"k8s:enc:secretbox:v1:new:" in on_disk(folder)


async def test_a_wrong_encryption_file_is_refused_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "encryption.yaml"
    write_config(path, {"rot13": {}})
    config = ServerConfig(data_dir=tmp_path / "data", encryption_config=path)

    with pytest.raises(ConfigInvalid) as refused:
        async with running_server(config):
            pass

    assert str(refused.value) == (
        f'encryption configuration file {path}: unknown field "resources[0].providers[0].rot13"'
    )
