"""Several kubeconfig files as one: whoever defines an entry first wins it whole."""

from __future__ import annotations

from collections.abc import Iterable

from proreus.client.config.kubeconfig import Cluster, Context, Kubeconfig, User


def merge(configs: Iterable[Kubeconfig]) -> Kubeconfig:
    """Entries are never mixed field by field: half of one user is nobody."""
    clusters: dict[str, Cluster] = {}
    users: dict[str, User] = {}
    contexts: dict[str, Context] = {}
    current = ""
    for config in configs:
        clusters = {**config.clusters, **clusters}
        users = {**config.users, **users}
        contexts = {**config.contexts, **contexts}
        current = current or config.current_context
    return Kubeconfig(clusters, users, contexts, current)
