"""ReplicaSets and ReplicationControllers: as many pods of one template as wanted."""

from proreus.cluster.controllers.replica_set.controller import (
    replica_set_controller,
    replication_controller,
)

__all__ = ["replica_set_controller", "replication_controller"]
