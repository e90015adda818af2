"""Where a client's configuration comes from: kubeconfig files, overrides, the pod it runs in."""

from proreus.client.client_config import (
    AuthSettings,
    ClientConfig,
    ConfigError,
    ExecSettings,
    Impersonation,
    RateLimit,
    TlsSettings,
)
from proreus.client.config.in_cluster import NotInCluster, in_cluster_config
from proreus.client.config.loading import load_config, load_kubeconfig
from proreus.client.config.overrides import Overrides

__all__ = [
    "AuthSettings",
    "ClientConfig",
    "ConfigError",
    "ExecSettings",
    "Impersonation",
    "NotInCluster",
    "Overrides",
    "RateLimit",
    "TlsSettings",
    "in_cluster_config",
    "load_config",
    "load_kubeconfig",
]
