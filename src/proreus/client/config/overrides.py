"""What a caller (or a command line) sets on top of the kubeconfig."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from proreus.client.client_config import Impersonation
from proreus.client.config.kubeconfig import Cluster, KubeconfigUser


@dataclass(frozen=True, slots=True)
class Overrides:
    """Empty means: as the kubeconfig says. Names must exist in it."""

    context: str = ""
    cluster: str = ""
    user: str = ""
    namespace: str = ""
    server: str = ""
    tls_server_name: str = ""
    insecure: bool | None = None
    ca_file: Path | None = None
    ca_data: bytes | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    token: str = ""
    username: str = ""
    password: str = ""
    proxy_url: str = ""
    impersonate: Impersonation | None = None

    def chosen(self, context: str, namespace: str) -> Overrides:
        """With these two on top, where they are not empty."""
        return replace(self, context=context or self.context, namespace=namespace or self.namespace)


def override_cluster(cluster: Cluster, by: Overrides) -> Cluster:
    if by.server:
        # A name that the certificate of the old server bears says nothing about the new one.
        cluster = replace(cluster, server=by.server, tls_server_name="")
    if by.tls_server_name:
        cluster = replace(cluster, tls_server_name=by.tls_server_name)
    if by.insecure is not None or by.ca_file or by.ca_data:
        # The three are one decision about trust, so they are replaced together.
        cluster = replace(
            cluster, insecure=bool(by.insecure), ca_file=by.ca_file, ca_data=by.ca_data
        )
    if by.proxy_url:
        cluster = replace(cluster, proxy_url=by.proxy_url)
    return cluster


def override_user(user: KubeconfigUser, by: Overrides) -> KubeconfigUser:
    if by.cert_file or by.key_file:
        user = replace(
            user,
            cert_file=by.cert_file or user.cert_file,
            cert_data=None if by.cert_file else user.cert_data,
            key_file=by.key_file or user.key_file,
            key_data=None if by.key_file else user.key_data,
        )
    if by.token:
        user = replace(user, token=by.token, token_file=None, username="", password="")
    if by.username or by.password:
        user = replace(user, username=by.username, password=by.password, token="", token_file=None)
    if by.impersonate is not None:
        user = replace(user, impersonate=by.impersonate)
    return user
