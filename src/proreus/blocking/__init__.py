"""The client without ``await``: the same names, for programs that have no event loop.

    from proreus.blocking import Client

    with Client.from_env() as client:
        for pod in client.core_v1.pods("default").list():
            print(pod.name)

One asyncio implementation does the work, on a thread of its own per client; this is a thin face
over it. What to know:

- **Threads.** Everything may be called from any thread. Listers are read in place, without a hop.
- **Callbacks.** Each handler of an informer has a thread of its own and one call at a time, so it
  may block, call the client and close it. Index functions and transforms run on the client's own
  loop thread, where nothing here may be called; that raises.
- **Fork.** Threads do not survive a fork: make clients in the child. Using one from before raises.
- **Signals.** Ctrl-C interrupts the waiting call and cancels it; the loop thread sees no signals.
"""

from __future__ import annotations

from proreus.blocking.client import Client, GroupClient, ResourceClient
from proreus.blocking.informers import Informer, Lister, SharedInformerFactory

__all__ = ["Client", "GroupClient", "Informer", "Lister", "ResourceClient", "SharedInformerFactory"]
