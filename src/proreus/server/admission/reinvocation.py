"""The second round of mutating admission: who is asked again after somebody changed the object."""

from __future__ import annotations

from dataclasses import field

from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.server.registry.admission import Attributes


@dataclass(slots=True)
class Reinvocation:
    """What a plugin remembers of one request between the two rounds, by keys of what it asks."""

    called: set[str] = field(default_factory=set)  # and to be called again after a change
    due: set[str] = field(default_factory=set)
    output: bytes = b""

    @classmethod
    def begin(cls, plugin: str, attributes: Attributes) -> Reinvocation:
        """At the start of each round of a plugin."""
        memory = attributes.memory.setdefault(plugin, cls())
        assert isinstance(memory, cls), "nobody else uses the name"
        if attributes.is_reinvocation and memory.output != json.canonical(attributes.obj):
            memory.require()  # other plugins changed the object since
        return memory

    def skips(self, key: str, attributes: Attributes) -> bool:
        """Never for the first time in the second round: labels that match only now do not count."""
        return attributes.is_reinvocation and key not in self.due

    def require(self) -> None:
        self.due |= self.called
        self.called.clear()

    def changed(self, attributes: Attributes) -> None:
        """By something that this plugin asked."""
        self.require()
        attributes.wants_reinvocation = True

    def end(self, attributes: Attributes) -> None:
        self.output = json.canonical(attributes.obj)
