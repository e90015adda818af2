"""An operator with leader election: start it twice, one of them works; end that, the other goes on.

    KUBECONFIG=… python examples/leader.py [identity]

It sets ``spec.paused: false`` on every Deployment and says so in an Event.
"""

from __future__ import annotations

import os
import socket
import sys

from proreus.aio.tasks import background
from proreus.client import Client, run_until_signal
from proreus.client.controller import Controller, Request
from proreus.client.event_recorder import EventRecorder
from proreus.client.informer import SharedInformerFactory
from proreus.client.leader_election import LeaderElector, LeadershipLost, LeaseLock


async def operate(client: Client, instance: str) -> None:
    """The workload: runs only while this process leads, and all it writes is fenced: once the lease
    may be another's, nothing is sent."""
    recorder = EventRecorder(client.core_v1.events, "unpauser", instance=instance)
    async with SharedInformerFactory(client) as informers, background(recorder.run()):
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
    # The lease has a client of its own: a renewal must not wait behind the workload's requests.
    async with Client.from_env() as client, Client.from_env() as lease_client:
        leases = lease_client.coordination_v1.leases
        elector = LeaderElector(
            LeaseLock(leases, leases.namespace, "unpauser"),
            identity,
            on_new_leader=lambda who: print(f"leader: {who or 'none'}", flush=True),
        )
        while True:
            try:
                await elector.run(lambda: operate(client, identity))
            except LeadershipLost as lost:
                print(f"{lost}; standing again", flush=True)


if __name__ == "__main__":
    # SIGTERM and SIGINT release the lease, so that the next process leads at once.
    run_until_signal(main(*sys.argv[1:]))
