"""Cluster addresses and node ports of services: what is needed (pure) and who gets it (storage)."""

from proreus.server.schema.allocation.allocator import Allocation, ServiceAllocator
from proreus.server.schema.allocation.ranges import Ranges

__all__ = ["Allocation", "Ranges", "ServiceAllocator"]
