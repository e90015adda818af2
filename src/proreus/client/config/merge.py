"""Several kubeconfig files as one: the first file that defines an entry has it whole."""

from __future__ import annotations

from collections.abc import Iterable

from proreus.client.config.kubeconfig import Cluster, Context, Kubeconfig, KubeconfigUser


def merge(configs: Iterable[Kubeconfig]) -> Kubeconfig:
    """Entries are never mixed field by field: half of a user is no user."""
    clusters: dict[str, Cluster] = {}
    users: dict[str, KubeconfigUser] = {}
    contexts: dict[str, Context] = {}
    current = ""
    for config in configs:
        clusters = {**config.clusters, **clusters}
        users = {**config.users, **users}
        contexts = {**config.contexts, **contexts}
        current = current or config.current_context
    return Kubeconfig(clusters, users, contexts, current)
