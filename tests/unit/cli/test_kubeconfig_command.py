"""``proreus kubeconfig`` and ``proreus token``: logins for others, and how they fail."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from proreus.cli.main import main
from proreus.client import Client, Unauthorized, load_config
from tests.running_server import RunningServer, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("data")) as started:
        yield started


@pytest.fixture
def folder(server: RunningServer) -> Path:
    return server.kubeconfig.parent


def run(folder: Path, *arguments: str) -> Result:
    command, *rest = arguments
    return CliRunner().invoke(main, [command, "--data-dir", str(folder), *rest])


def who_is(kubeconfig: Path) -> dict[str, Any]:
    """Whom the server sees."""

    async def ask() -> dict[str, Any]:
        async with Client(load_config(kubeconfig)) as client:
            review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
            api = client.resource("selfsubjectreviews.authentication.k8s.io")
            found: dict[str, Any] = (await api.create(review)).to_dict()["status"]["userInfo"]
            return found

    return asyncio.run(ask())


def test_a_user_logs_in_with_a_certificate_of_their_own(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "ann.kubeconfig"
    flags = ("--user", "ann", "--group", "dev", "--group", "ops", "--ttl", "10m")

    made = run(folder, "kubeconfig", *flags, "--output", str(file))

    assert made.exit_code == 0, made.output
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    user = who_is(file)
    assert (user["username"], user["groups"]) == ("ann", ["dev", "ops", "system:authenticated"])
    assert "token" not in yaml.safe_load(file.read_text())["users"][0]["user"]
    assert made.stdout == "" and "ann may log in with it until" in made.stderr


def test_without_a_name_it_is_the_administrators(server: RunningServer, folder: Path) -> None:
    assert run(folder, "kubeconfig").stdout == server.kubeconfig.read_text()


def test_a_server_that_is_reached_elsewhere_is_named(folder: Path) -> None:
    made = run(folder, "kubeconfig", "--user", "ann", "--server", "https://api.example:6443")

    clusters = yaml.safe_load(made.stdout)["clusters"]
    assert clusters[0]["cluster"]["server"] == "https://api.example:6443"


def test_a_service_account_logs_in_with_its_token(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "robot.kubeconfig"
    flags = ("--service-account", "robot", "--ttl", "10m")
    missing = run(folder, "token", *flags)

    async def make() -> None:
        async with Client(load_config(folder / "kubeconfig")) as client:
            await client.core_v1.serviceaccounts("default").create({"metadata": {"name": "robot"}})

    asyncio.run(make())
    made = run(folder, "token", *flags, "--output", str(file))
    raw = run(folder, "token", *flags, "--raw")

    assert made.exit_code == 0, made.output
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert who_is(file)["username"] == "system:serviceaccount:default:robot"
    assert raw.stdout.count(".") == 2 and raw.stdout.count("\n") == 1
    assert missing.exit_code == 1
    assert missing.stderr == (
        'Error: serviceaccounts "robot" not found in the namespace default; `kubectl create '
        "serviceaccount robot -n default` makes it\n"
    )


def test_a_token_for_others_is_not_accepted_by_the_server(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "vault.kubeconfig"
    flags = ("--service-account", "default", "-n", "kube-public", "--audience", "vault")

    async def make() -> None:
        async with Client(load_config(folder / "kubeconfig")) as client:
            accounts = client.core_v1.serviceaccounts("kube-public")
            await accounts.create({"metadata": {"name": "default"}})

    asyncio.run(make())
    made = run(folder, "token", *flags, "--output", str(file))

    assert made.exit_code == 0, made.output
    with pytest.raises(Unauthorized):
        who_is(file)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["kubeconfig", "--group", "dev"], "--group and --server are for a --user; name one"),
        (["kubeconfig", "--user", "a", "--ttl", "0s"], "--ttl a time that is longer than 0s"),
        (["kubeconfig", "--user", "x" * 65], "a certificate cannot hold these names"),
        (["token", "--service-account", "a", "--ttl", "1m"], "--ttl must be 10m at least"),
    ],
)
def test_what_cannot_be_had_is_refused_in_one_sentence(
    folder: Path, arguments: list[str], said: str
) -> None:
    result = run(folder, *arguments)

    assert result.exit_code != 0
    assert said in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("arguments", [["kubeconfig"], ["kubeconfig", "--user", "ann"]])
def test_a_folder_without_a_server_is_named(tmp_path: Path, arguments: list[str]) -> None:
    result = run(tmp_path, *arguments)

    assert result.exit_code == 1
    assert f"no server was ever started on {tmp_path}; start one with" in result.stderr


def test_a_server_that_is_not_running_cannot_give_tokens(tmp_path: Path) -> None:
    with running_server(tmp_path) as ended:
        assert ended.url
    flags = ("--service-account", "default")

    token = run(tmp_path, "token", *flags)
    kubeconfig = run(tmp_path, "kubeconfig", "--user", "ann")

    assert token.exit_code == 1
    assert "the server cannot be reached at" in token.stderr
    assert kubeconfig.exit_code == 0


def test_a_kubeconfig_is_merged_into_ones_own_and_its_others_stay(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "config"
    others = {"name": "kubernetes-admin", "user": {"token": "of another cluster"}}
    own.write_text(yaml.safe_dump({"users": [others], "current-context": "work"}))
    monkeypatch.setenv("KUBECONFIG", str(own))

    for _ in range(2):  # a second time changes nothing
        result = run(folder, "kubeconfig", "--merge")

    assert result.exit_code == 0, result.output
    merged = yaml.safe_load(own.read_text())
    assert merged["current-context"] == "proreus"
    assert [user["name"] for user in merged["users"]] == ["kubernetes-admin", "proreus"]
    assert merged["users"][0] == others
    assert load_config(own).host == load_config(folder / "kubeconfig").host
    assert own.stat().st_mode & 0o077 == 0


def test_a_merge_says_how_to_go_back(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "config"
    own.write_text("current-context: at work\n")
    monkeypatch.setenv("KUBECONFIG", str(own))

    result = run(folder, "kubeconfig", "--merge")

    assert "kubectl config use-context 'at work'" in result.output


def test_a_merge_leaves_a_file_that_cannot_be_read_as_it_was(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "config"
    own.write_text("users: {")
    monkeypatch.setenv("KUBECONFIG", str(own))

    result = run(folder, "kubeconfig", "--merge")

    assert result.exit_code == 1
    assert "not YAML" in result.output
    assert own.read_text() == "users: {"
