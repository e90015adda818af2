"""Garbage collection: background, foreground and orphan deletion by owner references."""

from proreus.cluster.controllers.garbage_collector.collector import GarbageCollector

__all__ = ["GarbageCollector"]
