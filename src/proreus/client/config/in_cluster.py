"""The configuration of a program that runs in a pod: what Kubernetes mounts there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from proreus.client.client_config import AuthSettings, ClientConfig, ConfigError, TlsSettings

_MOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class NotInCluster(ConfigError):
    """This program does not run in a pod."""


def mount_of(env: Mapping[str, str]) -> Path:
    """Where the account's files are. A container without a file system of its own (the process
    runtime) finds its root in ``PROREUS_ROOT``."""
    root = env.get("PROREUS_ROOT")
    return Path(root) / _MOUNT.relative_to("/") if root else _MOUNT


def in_cluster_config(env: Mapping[str, str], mount: Path | None = None) -> ClientConfig:
    """Raises ``NotInCluster`` where the environment of a pod is missing.

    The token stays a file, because Kubernetes replaces it every hour.
    """
    host, port = env.get("KUBERNETES_SERVICE_HOST"), env.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise NotInCluster(
            "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
        )
    mount = mount or mount_of(env)
    if not is_mounted(mount):
        raise NotInCluster(f"in a pod without a service account token at {mount / 'token'}")
    ca_file = mount / "ca.crt"
    return ClientConfig(
        host=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        namespace=in_cluster_namespace(env, mount) or "default",
        tls=TlsSettings(ca_file=ca_file if ca_file.is_file() else None),
        auth=AuthSettings(token_file=mount / "token"),
        disable_compression=True,  # the network inside a cluster is cheaper than the CPU
    )


def is_possible(env: Mapping[str, str], mount: Path) -> bool:
    return bool(env.get("KUBERNETES_SERVICE_HOST")) and is_mounted(mount)


def is_mounted(mount: Path) -> bool:
    return (mount / "token").is_file()


def in_cluster_namespace(env: Mapping[str, str], mount: Path) -> str:
    """The pod's own namespace; empty outside of a pod."""
    if named := env.get("POD_NAMESPACE"):
        return named
    try:
        return (mount / "namespace").read_text().strip()
    except OSError:
        return ""
