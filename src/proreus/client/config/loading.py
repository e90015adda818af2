"""Which files make the configuration, in which order: an argument, KUBECONFIG, home, the pod."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from pathlib import Path

from proreus.client.client_config import ClientConfig, ConfigError
from proreus.client.config import in_cluster
from proreus.client.config.kubeconfig import Kubeconfig, read_kubeconfig
from proreus.client.config.merge import merge
from proreus.client.config.overrides import Overrides
from proreus.client.config.resolve import resolve

log = logging.getLogger(__name__)


def load_config(
    kubeconfig: Path | str | None = None,
    overrides: Overrides | None = None,
    *,
    env: Mapping[str, str] | None = None,
    mount: Path | None = None,
) -> ClientConfig:
    """The configuration as kubectl would find it, else the one of the pod this runs in.

    An explicit file must exist and nothing else is read. Raises ``ConfigError``.
    """
    env = os.environ if env is None else env
    overrides = overrides or Overrides()
    mount = mount or in_cluster.mount_of(env)
    found = load_kubeconfig(kubeconfig, env=env)
    if found.is_empty and not overrides.server and in_cluster.is_possible(env, mount):
        return in_cluster.in_cluster_config(env, mount)
    namespace = in_cluster.in_cluster_namespace(env, mount) if kubeconfig is None else ""
    return resolve(found, overrides, namespace=namespace)


def load_kubeconfig(
    path: Path | str | None = None, *, env: Mapping[str, str] | None = None
) -> Kubeconfig:
    """The merged content of the kubeconfig files that apply; empty if there are none."""
    env = os.environ if env is None else env
    if path is not None:
        chosen = Path(path).expanduser().absolute()
        if not chosen.is_file():
            raise ConfigError(f"kubeconfig {chosen}: no such file")
        return read_kubeconfig(chosen)
    paths = kubeconfig_paths(env)
    existing = [one for one in paths if one.is_file()]
    if env.get("KUBECONFIG") and not existing:
        log.warning("none of the files that KUBECONFIG names exists: %s", env["KUBECONFIG"])
    return merge(read_kubeconfig(one) for one in existing)


def kubeconfig_paths(env: Mapping[str, str]) -> list[Path]:
    """KUBECONFIG's list without empty and repeated entries, else the file at home."""
    if listed := env.get("KUBECONFIG"):
        names = [name for name in listed.split(os.pathsep) if name]
        return [Path(name).absolute() for name in dict.fromkeys(names)]
    home = env.get("HOME") or env.get("USERPROFILE")
    return [Path(home) / ".kube" / "config"] if home else []
