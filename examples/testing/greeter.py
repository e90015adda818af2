"""An operator to be tested: every Greeting gets a ConfigMap with its text, and a status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from proreus.client import custom_resource
from proreus.client.operator import Operator, Reconciliation


@dataclass
class GreetingSpec:
    name: str


@custom_resource(group="example.com", version="v1")
@dataclass
class Greeting:
    spec: GreetingSpec
    status: dict[str, Any] | None = None


operator = Operator("greeter")


@operator.reconciler(Greeting, owns=["configmaps"])
async def reconcile(greeting: Reconciliation[Greeting]) -> None:
    text = f"Hello, {greeting.value.spec.name}!"
    metadata = {"name": greeting.name}
    await greeting.own(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}}
    )
    await greeting.set_status({"text": text})


if __name__ == "__main__":
    operator.run()
