"""A kubeconfig, a context and overrides → the one configuration of a client. Pure."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from proreus.client.client_config import AuthSettings, ClientConfig, ConfigError, TlsSettings
from proreus.client.config.address import server_url
from proreus.client.config.kubeconfig import Cluster, Context, Kubeconfig, KubeconfigUser
from proreus.client.config.overrides import Overrides, override_cluster, override_user

_PROXY_SCHEMES = ("http", "https", "socks5")


def resolve(config: Kubeconfig, overrides: Overrides, *, namespace: str = "") -> ClientConfig:
    """``namespace`` is what holds if neither an override nor the context names one."""
    context = _context(config, overrides)
    cluster = override_cluster(_cluster(config, context, overrides), overrides)
    user = override_user(_user(config, context, overrides), overrides)
    if not cluster.server:
        raise ConfigError(_no_server(config, context))
    _check_cluster(cluster)
    _check_user(user)
    host = server_url(
        cluster.server, secure=bool(cluster.ca_file or cluster.ca_data or cluster.insecure)
    )
    return ClientConfig(
        host=host,
        namespace=overrides.namespace or context.namespace or namespace or "default",
        tls=_tls(cluster, user) if host.startswith("https:") else TlsSettings(),
        # Over plain HTTP a credential would be readable by everyone on the way.
        auth=_auth(cluster, user) if host.startswith("https:") else AuthSettings(),
        impersonate=user.impersonate,
        proxy_url=cluster.proxy_url or None,
        disable_compression=cluster.disable_compression,
    )


def _context(config: Kubeconfig, overrides: Overrides) -> Context:
    name = overrides.context or config.current_context
    if not name:
        return Context()
    if name not in config.contexts:
        known = ", ".join(config.contexts) or "none"
        raise ConfigError(f"context {name!r} does not exist; there are: {known}")
    return config.contexts[name]


def _cluster(config: Kubeconfig, context: Context, overrides: Overrides) -> Cluster:
    if overrides.cluster and overrides.cluster not in config.clusters:
        raise ConfigError(f"cluster {overrides.cluster!r} does not exist")
    return config.clusters.get(overrides.cluster or context.cluster, Cluster())


def _user(config: Kubeconfig, context: Context, overrides: Overrides) -> KubeconfigUser:
    if overrides.user and overrides.user not in config.users:
        raise ConfigError(f"user {overrides.user!r} does not exist")
    return config.users.get(overrides.user or context.user, KubeconfigUser())


def _no_server(config: Kubeconfig, context: Context) -> str:
    if context.cluster and context.cluster not in config.clusters:
        return f"cluster {context.cluster!r}, which the context names, does not exist"
    if config.is_empty:
        return "no configuration: there is no kubeconfig and this is not a pod"
    if not config.current_context:
        return "no current context is set; name one"
    return "the cluster has no server address"


def _check_cluster(cluster: Cluster) -> None:
    if cluster.ca_file and cluster.ca_data:
        raise ConfigError("cluster: certificate-authority and -data are both set; keep one")
    if cluster.insecure and (cluster.ca_file or cluster.ca_data):
        raise ConfigError("cluster: insecure-skip-tls-verify with a certificate authority")
    if cluster.proxy_url and urlsplit(cluster.proxy_url).scheme not in _PROXY_SCHEMES:
        raise ConfigError(f"cluster: proxy-url {cluster.proxy_url!r} is not http, https or socks5")


def _check_user(user: KubeconfigUser) -> None:
    if (user.token or user.token_file) and (user.username or user.password):
        raise ConfigError("user: token and username are both set; keep one")
    if user.cert_file and user.cert_data:
        raise ConfigError("user: client-certificate and -data are both set; keep one")
    if user.key_file and user.key_data:
        raise ConfigError("user: client-key and -data are both set; keep one")
    has_cert, has_key = user.cert_file or user.cert_data, user.key_file or user.key_data
    if bool(has_cert) != bool(has_key):
        missing = "client-key" if has_cert else "client-certificate"
        raise ConfigError(f"user: {missing} is missing")
    if user.auth_provider:
        hint = "and exec, which exclude each other" if user.exec else "is not supported: use exec"
        raise ConfigError(f"user: auth-provider {user.auth_provider!r} {hint}")


def _tls(cluster: Cluster, user: KubeconfigUser) -> TlsSettings:
    return TlsSettings(
        ca_file=cluster.ca_file,
        ca_data=cluster.ca_data,
        insecure=cluster.insecure,
        server_name=cluster.tls_server_name or None,
        cert_file=user.cert_file,
        cert_data=user.cert_data,
        key_file=user.key_file,
        key_data=user.key_data,
    )


def _auth(cluster: Cluster, user: KubeconfigUser) -> AuthSettings:
    plugin = user.exec
    if plugin is not None and plugin.provide_cluster:
        plugin = replace(plugin, cluster_extension=cluster.exec_extension)
    return AuthSettings(
        token=user.token,
        token_file=user.token_file,
        username=user.username,
        password=user.password,
        exec=plugin,
    )
