"""Objects whose owners are gone go too; owners wait for theirs, or leave them behind, if asked."""

from proreus.cluster.controllers.garbage_collector.collector import GarbageCollector

__all__ = ["GarbageCollector"]
