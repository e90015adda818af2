"""An operator with leader election: start it twice, one of them works; end that, the other goes on.

    KUBECONFIG=… python examples/leader.py [identity]

It sets ``spec.paused: false`` on every Deployment and says so in an Event.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys

from proreus.aio.tasks import background
from proreus.client import Client
from proreus.client.controller import Controller, Request
from proreus.client.event_recorder import EventRecorder
from proreus.client.informer import SharedInformerFactory
from proreus.client.leader_election import LeaderElector, LeadershipLost, LeaseLock


async def operate(client: Client, recorder: EventRecorder) -> None:
    """The workload: runs only while this process leads."""
    async with SharedInformerFactory(client) as informers:
        deployments = informers.informer("deployments.apps")

        async def unpause(request: Request) -> None:
            found = request.object
            if found is None or not found.spec.paused:
                return
            api = client.apps_v1.deployments(request.namespace)
            written = await api.patch(request.name, {"spec": {"paused": False}})
            # Read one's own write: the next reconcile must not see the old state.
            await deployments.lister.get(request.key, at_least=written.resource_version)
            recorder.event(written, "Normal", "Unpaused", "rollouts may not rest here")
            print(f"unpaused {request.key}", flush=True)

        informers.start()
        await Controller(unpause, deployments).run()


async def main(identity: str = "") -> None:
    identity = identity or f"{socket.gethostname()}_{os.getpid()}"
    async with Client.from_env() as client:
        recorder = EventRecorder(client.core_v1.events, "unpauser", instance=identity)
        lock = LeaseLock(client.coordination_k8s_io_v1.leases("default"), "default", "unpauser")
        elector = LeaderElector(
            lock, identity, on_new_leader=lambda who: print(f"leader: {who or 'none'}", flush=True)
        )
        async with background(recorder.run()):
            while True:
                try:
                    await elector.run(lambda: operate(client, recorder))
                except LeadershipLost as lost:
                    print(f"{lost}; standing again", flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))
