"""A leader that writes all the time: ``KUBECONFIG=… python -m tests.faults.leading_child NAME``."""

from __future__ import annotations

import sys

from proreus.aio.clock import SystemClock
from proreus.client import Client, LeaderElector, LeadershipLost, LeaseLock, run_until_signal
from proreus.client.controller import Controller, Request
from proreus.client.informer import SharedInformerFactory
from proreus.client.leader_election import ElectionTiming

# Long enough for the busiest machine to renew.
TIMING = ElectionTiming(lease_duration_s=8, renew_deadline_s=7.5, retry_period_s=0.2)


async def write_on(client: Client, who: str) -> None:
    """A controller that writes its name into every marked ConfigMap, over and over."""

    async def reconcile(request: Request) -> None:
        maps = client.core_v1.configmaps(request.namespace)
        while True:  # no pause in which the loss of the lease could be noticed otherwise
            await maps.patch(request.name, {"data": {"who": who}})

    async with SharedInformerFactory(client, namespace=client.namespace) as informers:
        maps = informers.informer("configmaps", label_selector="written")
        informers.start()
        await Controller(reconcile, maps).run()


async def main(identity: str) -> None:
    async with Client.from_env() as client, Client.from_env() as lease_client:
        where = client.namespace
        lock = LeaseLock(lease_client.coordination_v1.leases(where), where, "writer")
        elector = LeaderElector(lock, identity, timing=TIMING, clock=SystemClock())
        sys.stdout.write(f"{identity}\n")
        sys.stdout.flush()
        while True:
            try:
                await elector.run(lambda: write_on(client, identity))
            except LeadershipLost:
                continue


if __name__ == "__main__":
    run_until_signal(main(sys.argv[1]))
