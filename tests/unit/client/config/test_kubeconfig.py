"""Kubeconfig files: read, merged, resolved as kubectl does."""

from __future__ import annotations

import base64
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.client.client_config import ClientConfig, ConfigError, Impersonation
from proreus.client.config.kubeconfig import (
    Cluster,
    Context,
    Kubeconfig,
    KubeconfigUser,
    parse_kubeconfig,
)
from proreus.client.config.loading import kubeconfig_paths, load_config, load_kubeconfig
from proreus.client.config.merge import merge
from proreus.client.config.overrides import Overrides
from proreus.client.config.resolve import resolve

HERE = Path("/conf/dir/config")
CLUSTER = '{server: "https://h:6443/prefix/?x=1", certificate-authority: certs/ca.crt}'
SIMPLE = f"""
apiVersion: v1
kind: Config
current-context: main
clusters:
- name: c
  cluster: {CLUSTER}
users:
- name: u
  user: {{token: t}}
contexts:
- name: main
  context: {{cluster: c, user: u, namespace: team}}
- name: other
  context: {{cluster: c, user: gone}}
"""


def parsed(text: str) -> Kubeconfig:
    return parse_kubeconfig(text.encode(), HERE)


def resolved(text: str, **overrides: object) -> ClientConfig:
    return resolve(parsed(text), Overrides(**overrides))  # type: ignore[arg-type]


def user(text: str) -> str:
    return SIMPLE.replace("{token: t}", text)


def cluster(text: str) -> str:
    return SIMPLE.replace(CLUSTER, text)


def test_a_simple_file_gives_server_trust_and_credentials() -> None:
    config = resolved(SIMPLE)

    assert config.host == "https://h:6443/prefix"
    assert config.namespace == "team"
    assert config.tls.ca_file == Path("/conf/dir/certs/ca.crt")
    assert config.auth.token == "t"


def test_secrets_do_not_appear_when_printed() -> None:
    secret = base64.b64encode(b"private key").decode()
    text = user(
        f"{{client-certificate: c, client-key-data: {secret}, password: hush, username: u}}"
    )

    assert "hush" not in repr(resolved(text))
    assert "private" not in repr(resolved(text))
    assert "'t'" not in repr(resolved(SIMPLE))


@given(st.data())
def test_the_first_file_to_define_an_entry_wins_it_whole(data: st.DataObject) -> None:
    names = st.sampled_from(["a", "b", "c"])
    texts = st.text("xyz", max_size=3)
    files = data.draw(
        st.lists(
            st.builds(
                Kubeconfig,
                st.dictionaries(names, st.builds(Cluster, texts, texts)),
                st.dictionaries(names, st.builds(KubeconfigUser, token=texts, username=texts)),
                st.dictionaries(names, st.builds(Context, texts, texts)),
                texts,
            ),
            max_size=4,
        )
    )

    merged = merge(files)

    for kind in ("clusters", "users", "contexts"):
        expected: dict[str, object] = {}
        for file in files:
            for name, entry in getattr(file, kind).items():
                expected.setdefault(name, entry)
        assert getattr(merged, kind) == expected
    assert merged.current_context == next(
        (f.current_context for f in files if f.current_context), ""
    )


def test_files_of_KUBECONFIG_merge_and_paths_belong_to_their_file(tmp_path: Path) -> None:
    first, second = tmp_path / "a" / "conf", tmp_path / "b" / "conf"
    for file, token in ((first, "one"), (second, "two")):
        file.parent.mkdir()
        file.write_text(SIMPLE.replace("token: t", f"token: {token}").replace("main", token))
    env = {"KUBECONFIG": f"{first}::{tmp_path / 'missing'}:{second}:{first}"}

    config = load_config(env=env, mount=tmp_path)

    assert config.auth.token == "one"
    assert config.tls.ca_file == first.parent / "certs/ca.crt"
    assert set(load_kubeconfig(env=env).contexts) == {"one", "two", "other"}


def test_without_KUBECONFIG_the_file_at_home_is_read(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text(SIMPLE)

    assert load_config(env={"HOME": str(tmp_path)}, mount=tmp_path).namespace == "team"
    assert kubeconfig_paths({}) == []


def test_an_explicit_file_must_exist_and_is_the_only_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_config(tmp_path / "none")
    (tmp_path / "conf").write_text(SIMPLE)
    env = {"KUBECONFIG": str(tmp_path / "other")}

    assert load_config(tmp_path / "conf", env=env).host == "https://h:6443/prefix"


def test_if_no_file_of_KUBECONFIG_exists_it_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), pytest.raises(ConfigError, match="no kubeconfig"):
        load_config(env={"KUBECONFIG": str(tmp_path / "none")}, mount=tmp_path)

    assert "none of the files" in caplog.text


def test_an_empty_file_is_an_empty_configuration() -> None:
    assert parsed("").is_empty


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "not YAML"),
        ("[]", "not a mapping"),
        ("clusters: {}\nusers: 5", "users is not a list"),
        ("clusters: [{cluster: {}}]", r"clusters\[0\]: has no name"),
        ("clusters: [{name: a}, {name: a}]", "cluster 'a': is defined twice"),
        ("users: [{name: a, user: []}, {name: b, user: 5}]", "user 'b': user is not a mapping"),
        (cluster("{server: [x]}"), "server is not a string"),
        (cluster("{insecure-skip-tls-verify: maybe}"), "neither true nor false"),
        (cluster("{certificate-authority-data: '!!'}"), "not base64"),
        (user("{exec: 5}"), "exec is not a mapping"),
        (user("{exec: {apiVersion: client.authentication.k8s.io/v1}}"), "command is missing"),
        (user("{exec: {command: x, apiVersion: v9}}"), "'v9' is not client.authentication"),
        (
            user("{exec: {command: x, apiVersion: client.authentication.k8s.io/v1}}"),
            "interactiveMode is missing",
        ),
        (
            user(
                "{exec: {command: x, apiVersion: client.authentication.k8s.io/v1, "
                "interactiveMode: Soon}}"
            ),
            "'Soon' is not one of",
        ),
        (user("{as-groups: [a]}"), "need as"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_entry(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        parsed(text)
    assert str(HERE) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (user("{token: a, username: b}"), "token and username"),
        (user("{client-certificate: a}"), "client-key is missing"),
        (user("{client-key: a}"), "client-certificate is missing"),
        (user("{client-certificate: a, client-certificate-data: YQ==, client-key: b}"), "both"),
        (user("{client-certificate: a, client-key: b, client-key-data: YQ==}"), "both"),
        (user("{auth-provider: {name: gcp}}"), "'gcp' is not supported: use exec"),
        (
            cluster("{server: x, certificate-authority: a, certificate-authority-data: YQ==}"),
            "both",
        ),
        (
            cluster("{server: x, certificate-authority: a, insecure-skip-tls-verify: true}"),
            "insecure-skip-tls-verify with",
        ),
        (cluster("{server: x, proxy-url: 'gopher://p'}"), "proxy-url"),
        (cluster("{}"), "no server address"),
        (SIMPLE.replace("current-context: main", ""), "no current context"),
        (SIMPLE.replace("current-context: main", "current-context: x"), "'x' does not exist"),
        (SIMPLE.replace("name: c\n", "name: d\n"), "cluster 'c', which the context names"),
    ],
)
def test_what_cannot_be_used_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolved(text)


def test_a_context_with_an_unknown_user_is_anonymous() -> None:
    config = resolved(SIMPLE, context="other")

    assert config.auth.token == ""
    assert config.namespace == "default"


def test_over_plain_http_credentials_and_trust_are_left_out() -> None:
    text = SIMPLE.replace("https://", "http://").replace("{token: t}", "{token: t, as: jane}")

    config = resolved(text)

    assert config.auth.token == ""
    assert config.tls.ca_file is None
    assert config.impersonate == Impersonation("jane")


def test_names_that_overrides_use_must_exist() -> None:
    for wrong in ({"context": "x"}, {"cluster": "x"}, {"user": "x"}):
        with pytest.raises(ConfigError, match="'x' does not exist"):
            resolved(SIMPLE, **wrong)


def test_overriding_the_server_forgets_the_name_of_its_certificate() -> None:
    text = cluster("{server: 'https://h', tls-server-name: n}")

    assert resolved(text).tls.server_name == "n"
    assert resolved(text, server="https://k").tls.server_name is None
    assert resolved(text, server="https://k", tls_server_name="m").tls.server_name == "m"


def test_overriding_one_part_of_trust_replaces_all_of_it() -> None:
    config = resolved(SIMPLE, insecure=True)

    assert config.tls.insecure
    assert config.tls.ca_file is None


def test_credentials_can_be_overridden() -> None:
    certs = user("{client-certificate-data: YQ==, client-key-data: YQ==}")
    files = resolved(certs, cert_file=Path("/c"), key_file=Path("/k")).tls

    assert (files.cert_data, files.key_data, files.cert_file) == (None, None, Path("/c"))
    assert resolved(SIMPLE, token="new").auth.token == "new"
    assert resolved(SIMPLE, username="a", password="b").auth.token == ""
    assert resolved(SIMPLE, impersonate=Impersonation("x")).impersonate == Impersonation("x")
    assert resolved(SIMPLE, proxy_url="http://p:1").proxy_url == "http://p:1"
    assert resolved(SIMPLE, namespace="mine").namespace == "mine"


def test_an_exec_entry_is_read_with_its_paths_and_cluster() -> None:
    text = cluster(
        "{server: 'https://h', extensions: [{name: client.authentication.k8s.io/exec,"
        " extension: {audience: a}}]}"
    ).replace(
        "{token: t}",
        "{exec: {command: bin/login, apiVersion: client.authentication.k8s.io/v1beta1,"
        " args: [a, 1], env: [{name: N, value: V}], installHint: get it,"
        " provideClusterInfo: true}}",
    )

    plugin = resolved(text).auth.exec

    assert plugin is not None
    assert plugin.command == "/conf/dir/bin/login"
    assert (plugin.args, plugin.env, plugin.interactive_mode) == (
        ("a", "1"),
        (("N", "V"),),
        "IfAvailable",
    )
    assert plugin.cluster_extension == '{"audience":"a"}'


def test_impersonation_is_read() -> None:
    text = user("{as: jane, as-uid: '1', as-groups: [g], as-user-extra: {k: [v, w]}}")

    assert resolved(text).impersonate == Impersonation("jane", "1", ("g",), {"k": ("v", "w")})
