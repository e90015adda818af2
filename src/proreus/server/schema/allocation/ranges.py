"""From which addresses and ports services are served."""

from __future__ import annotations

import random
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from ipaddress import IPv4Network

_GUESSES = 8


@dataclass(frozen=True, slots=True)
class Ranges:
    addresses: IPv4Network = field(default_factory=lambda: IPv4Network("10.96.0.0/12"))
    ports: range = range(30000, 32768)

    def holds_address(self, text: str) -> bool:
        try:
            first, last = int(self.addresses[0]), int(self.addresses[-1])
            return first < int(IPv4Network(text).network_address) < last
        except ValueError:
            return False

    @property
    def ports_text(self) -> str:
        return f"{self.ports.start}-{self.ports.stop - 1}"

    def random_addresses(self) -> Iterator[str]:
        """A few guesses: with many free ones the first is good, and no list need be read."""
        for _ in range(_GUESSES):
            yield str(self.addresses[random.randrange(1, self.addresses.num_addresses - 1)])

    def free_addresses(self, used: Container[str]) -> Iterator[str]:
        """All that are left; the two ends of a network are not for use."""
        return (str(address) for address in self.addresses.hosts() if str(address) not in used)

    def random_ports(self) -> Iterator[int]:
        for _ in range(_GUESSES):
            yield random.choice(self.ports)

    def free_ports(self, used: Container[str]) -> Iterator[int]:
        return (number for number in self.ports if str(number) not in used)
