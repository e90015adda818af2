"""Keeps ``Rbac`` equal to the watch caches of roles and bindings, change by change.

Receives: every change of the four kinds, in the turn in which its cache applies it. Hands on: rules
and bindings. So a decision that follows an event knows it, and no decision lists anything.
"""

from __future__ import annotations

from functools import partial

from proreus.api.wire import splice
from proreus.server.authz.rbac.authorizer import Rbac
from proreus.server.authz.rbac.bindings import Binding
from proreus.server.authz.rbac.rules import rules_of
from proreus.server.registry.collections import Collections
from proreus.server.watch_cache.cache_follower import CacheFollower
from proreus.server.watch_cache.object import CachedObject

GROUP = "rbac.authorization.k8s.io"
_UNREADABLE = "role or binding is unreadable and allows nothing"


def follow_policy(rbac: Rbac, collections: Collections) -> None:
    """From now on ``rbac`` has what the caches have."""
    kinds = (
        ("roles", "clusterroles", rbac.clear_roles, _put_role, _remove_role),
        ("rolebindings", "clusterrolebindings", rbac.clear_bindings, _put_binding, _remove_binding),
    )
    for namespaced, cluster_wide, clear, put, remove in kinds:
        for plural in (namespaced, cluster_wide):
            forget = partial(clear, is_cluster=plural == cluster_wide)
            cache = collections.named(GROUP, "v1", plural).cache
            cache.follow(
                CacheFollower(forget, partial(put, rbac), partial(remove, rbac), _UNREADABLE)
            )


def _put_role(rbac: Rbac, found: CachedObject) -> None:
    rbac.put_role(found.namespace, found.name, rules_of(splice.decode_item(found.item)))


def _remove_role(rbac: Rbac, found: CachedObject) -> None:
    rbac.remove_role(found.namespace, found.name)


def _put_binding(rbac: Rbac, found: CachedObject) -> None:
    rbac.put_binding(Binding.of(found.namespace, found.name, splice.decode_item(found.item)))


def _remove_binding(rbac: Rbac, found: CachedObject) -> None:
    rbac.remove_binding(found.namespace, found.name)
