"""The annotations of simulated pods: which there are, for who reads and for who documents them."""

from __future__ import annotations

from dataclasses import dataclass

DOMAIN = "proreus.dev"
START_DELAY, READY_AFTER, EXIT_AFTER = "start-delay", "ready-after", "exit-after"
EXIT_CODE, EXITS, STOP_AFTER = "exit-code", "exits", "stop-after"
MISSING_IMAGE = "missing-image"


@dataclass(frozen=True, slots=True)
class SimulationAnnotation:
    """``name``: after ``proreus.dev/``. ``values``: examples of what it takes."""

    name: str
    values: tuple[str, ...]
    about: str
    default: str


ANNOTATIONS = (
    SimulationAnnotation(START_DELAY, ("2s",), "how long a container is being created", "0"),
    SimulationAnnotation(
        READY_AFTER,
        ("5s", "never"),
        "how long after its start it is ready",
        "the readiness probe's initial delay",
    ),
    SimulationAnnotation(
        EXIT_AFTER, ("10s", "never"), "when it exits by itself", "as its command says"
    ),
    SimulationAnnotation(EXIT_CODE, ("1",), "with which code", "as its command says"),
    SimulationAnnotation(EXITS, ("3",), "how often it exits; then it keeps running", "always"),
    SimulationAnnotation(STOP_AFTER, ("1s",), "how long it takes to stop when told to", "0"),
    SimulationAnnotation(
        MISSING_IMAGE,
        ("web:*,db",),
        "images that cannot be pulled, as patterns; not per container",
        "none",
    ),
)
