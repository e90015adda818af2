"""From a storage key to the cache of its resource: the longest registered prefix.

Prefixes have one segment (``/registry/pods/``) or two (``/registry/services/specs/``,
``/registry/example.com/things/``), so a key is looked up once per depth in use; what was found is
remembered for the others of its namespace.
"""

from __future__ import annotations

from collections.abc import Iterator

from proreus.server.watch_cache.cache import WatchCache

_FOUND_MAX = 4096  # resources × namespaces


class Routes:
    def __init__(self) -> None:
        self._by_prefix: dict[str, WatchCache] = {}
        self._depths: list[int] = []  # slashes in the prefixes, most first
        self._found: dict[str, WatchCache | None] = {}  # by what stands before a key's last slash

    def add(self, cache: WatchCache) -> None:
        prefix = cache.kind.prefix
        assert prefix.endswith("/"), f"{prefix} must end with a slash"
        assert prefix not in self._by_prefix, f"{prefix} has a cache already"
        self._by_prefix[prefix] = cache
        self._found.clear()
        if prefix.count("/") not in self._depths:
            self._count_depths()

    def remove(self, prefix: str) -> WatchCache:
        cache = self._by_prefix.pop(prefix)
        self._found.clear()
        self._count_depths()
        return cache

    def find(self, key: str) -> WatchCache | None:
        folder = key.rpartition("/")[0]
        try:
            return self._found[folder]
        except KeyError:
            if len(self._found) >= _FOUND_MAX:
                self._found.clear()
            found = self._found[folder] = self._find(key)
            return found

    def _find(self, key: str) -> WatchCache | None:
        parts = key.split("/", self._depths[0]) if self._depths else []
        for depth in self._depths:
            if len(parts) > depth:
                cache = self._by_prefix.get("/".join(parts[:depth]) + "/")
                if cache is not None:
                    return cache
        return None

    def _count_depths(self) -> None:
        self._depths = sorted({prefix.count("/") for prefix in self._by_prefix}, reverse=True)

    def __iter__(self) -> Iterator[WatchCache]:
        return iter(list(self._by_prefix.values()))

    def __len__(self) -> int:
        return len(self._by_prefix)
