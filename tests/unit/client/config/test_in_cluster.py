"""In a pod, and the proxy rules of the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from proreus.client.client_config import ConfigError
from proreus.client.config.address import server_url
from proreus.client.config.in_cluster import NotInCluster, in_cluster_config
from proreus.client.config.loading import load_config
from proreus.client.config.overrides import Overrides
from proreus.client.config.proxy import proxy_from_env

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def mount(tmp_path: Path) -> Path:
    (tmp_path / "token").write_text("t")
    (tmp_path / "namespace").write_text("team\n")
    (tmp_path / "ca.crt").write_text("ca")
    return tmp_path


def test_a_pod_finds_its_server_and_keeps_the_token_a_file(mount: Path) -> None:
    config = in_cluster_config(POD, mount)

    assert config.host == "https://10.0.0.1:443"
    assert config.auth.token_file == mount / "token"
    assert config.auth.token == ""
    assert config.tls.ca_file == mount / "ca.crt"
    assert config.namespace == "team"


def test_an_ipv6_address_is_bracketed(mount: Path) -> None:
    env = {**POD, "KUBERNETES_SERVICE_HOST": "fd00::1"}

    assert in_cluster_config(env, mount).host == "https://[fd00::1]:443"


def test_the_environment_may_name_the_namespace(mount: Path) -> None:
    assert in_cluster_config({**POD, "POD_NAMESPACE": "x"}, mount).namespace == "x"
    (mount / "namespace").unlink()
    assert in_cluster_config(POD, mount).namespace == "default"


def test_elsewhere_it_is_said_what_is_missing(tmp_path: Path, mount: Path) -> None:
    with pytest.raises(NotInCluster, match="KUBERNETES_SERVICE_HOST"):
        in_cluster_config({}, mount)
    (mount / "token").unlink()
    with pytest.raises(NotInCluster, match="token"):
        in_cluster_config(POD, mount)


def test_without_a_kubeconfig_the_pod_decides(mount: Path) -> None:
    assert load_config(env=POD, mount=mount).host == "https://10.0.0.1:443"
    named = load_config(overrides=Overrides(server="https://h"), env=POD, mount=mount)
    assert (named.host, named.namespace) == ("https://h", "team")


@pytest.mark.parametrize(
    ("host", "secure", "url"),
    [
        ("h", False, "http://h"),
        ("h:1", True, "https://h:1"),
        ("", False, "http://localhost"),
        ("https://h/p/?q#f", False, "https://h/p"),
    ],
)
def test_addresses_become_urls(host: str, secure: bool, url: str) -> None:
    assert server_url(host, secure=secure) == url


def test_an_address_with_a_path_needs_a_scheme() -> None:
    with pytest.raises(ConfigError, match="needs http"):
        server_url("h/p", secure=True)


@pytest.mark.parametrize(
    ("host", "rules", "is_proxied"),
    [
        ("api.example.com", "", True),
        ("localhost", "", False),
        ("127.0.0.1", "", False),
        ("api.example.com", "example.com", False),
        ("api.example.com", ".example.com", False),
        ("api.example.com", "*.example.com", False),
        ("example.com", ".example.com", True),
        ("notexample.com", "example.com", True),
        ("api.example.com", "*", False),
        ("api.example.com", "api.example.com:6443", False),
        ("api.example.com", "api.example.com:1", True),
        ("10.1.2.3", "10.0.0.0/8", False),
        ("11.1.2.3", "10.0.0.0/8, nonsense/x", True),
        ("10.1.2.3", "10.1.2.3", False),
    ],
)
def test_the_environments_proxy_is_used_unless_exempt(
    host: str, rules: str, is_proxied: bool
) -> None:
    env = {"HTTPS_PROXY": "proxy:3128", "NO_PROXY": rules}

    found = proxy_from_env(f"https://{host}:6443", env)

    assert found == ("http://proxy:3128" if is_proxied else None)


def test_the_scheme_chooses_the_variable() -> None:
    env = {"https_proxy": "http://s", "HTTP_PROXY": "http://p"}

    assert proxy_from_env("https://h", env) == "http://s"
    assert proxy_from_env("http://h", env) == "http://p"
    assert proxy_from_env("http://h", {}) is None
