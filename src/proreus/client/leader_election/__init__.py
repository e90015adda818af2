"""At most one of several candidates leads, by a Lease."""

from proreus.client.leader_election.election import ElectionTiming, LeaderElector, LeadershipLost
from proreus.client.leader_election.lease_lock import LeaseLock, LeaseRecord, Leases

__all__ = [
    "ElectionTiming",
    "LeaderElector",
    "LeadershipLost",
    "LeaseLock",
    "LeaseRecord",
    "Leases",
]
