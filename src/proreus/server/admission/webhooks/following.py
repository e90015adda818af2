"""Keeps the webhooks of a server equal to the watch caches of their configurations.

Receives: every change of the two kinds, in the turn in which its cache applies it. Hands on: the
webhooks, by the names of their configurations and in their order in each.
"""

from __future__ import annotations

from collections.abc import Callable

from proreus.api.wire import splice
from proreus.server.admission.matching import configures_admission
from proreus.server.admission.webhooks.configuration import AdmissionWebhook, read_configuration
from proreus.server.registry.admission import Attributes
from proreus.server.registry.collections import Collections
from proreus.server.watch_cache.cache_follower import CacheFollower
from proreus.server.watch_cache.object import CachedObject

_GROUP = "admissionregistration.k8s.io"
_UNREADABLE = "webhook configuration is unreadable and has no effect"


class WebhookList:
    """The webhooks of one kind of configuration; ``changed`` is called after every change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._by_name: dict[str, tuple[AdmissionWebhook, ...]] = {}
        self.ordered: tuple[AdmissionWebhook, ...] = ()

    def follow(self, collections: Collections, plural: str) -> None:
        """From now on ``ordered`` is what the cache has."""
        cache = collections.named(_GROUP, "v1", plural).cache
        cache.follow(CacheFollower(self._clear, self._put, self._remove, _UNREADABLE))

    def concern(self, attributes: Attributes) -> bool:
        """Whether they may be asked: never about what configures them, which they could lock."""
        if not self.ordered:
            return False
        kind = attributes.kind
        return not configures_admission(kind.group, kind.kind)

    def _clear(self) -> None:
        self._by_name.clear()
        self._order()

    def _put(self, found: CachedObject) -> None:
        webhooks = read_configuration(found.name, splice.decode_item(found.item))
        self._by_name[found.name] = tuple(webhooks)
        self._order()

    def _remove(self, found: CachedObject) -> None:
        self._by_name.pop(found.name, None)
        self._order()

    def _order(self) -> None:
        by_name = self._by_name
        self.ordered = tuple(hook for name in sorted(by_name) for hook in by_name[name])
        self._changed()

    def __repr__(self) -> str:
        return f"<WebhookList of {len(self.ordered)} webhooks>"
