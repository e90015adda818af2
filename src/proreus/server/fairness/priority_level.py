"""What a PriorityLevelConfiguration says. Pure."""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.lazy_dataclass import dataclass
from proreus.server.fairness.concurrency import Shares
from proreus.server.fairness.queues import Queuing


@dataclass(frozen=True, slots=True)
class PriorityLevel:
    """Requests of an exempt level take no seats; it may lend those that its shares give it."""

    name: str
    uid: str
    is_exempt: bool
    shares: Shares
    queuing: Queuing

    @classmethod
    def of(cls, obj: Json) -> PriorityLevel:
        """Of a stored object. Raises KeyError, TypeError or ValueError for one that is none."""
        metadata, spec = obj["metadata"], obj["spec"]
        is_exempt = spec["type"] == "Exempt"
        part = spec.get("exempt") or {} if is_exempt else spec["limited"]
        borrowing = part.get("borrowingLimitPercent")
        default = 0 if is_exempt else 30
        return cls(
            name=metadata["name"],
            uid=metadata.get("uid", ""),
            is_exempt=is_exempt,
            shares=Shares(
                shares=int(part.get("nominalConcurrencyShares", default)),
                lendable_percent=int(part.get("lendablePercent") or 0),
                borrowing_percent=None if borrowing is None else int(borrowing),
            ),
            queuing=_queuing(part.get("limitResponse") or {}),
        )


def _queuing(response: Json) -> Queuing:
    if response.get("type") != "Queue":
        return Queuing()
    queuing = response.get("queuing") or {}
    return Queuing(
        queues=int(queuing.get("queues") or 64),
        hand_size=int(queuing.get("handSize") or 8),
        length_limit=int(queuing.get("queueLengthLimit") or 50),
    )
