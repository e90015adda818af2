"""The client without ``await``: the same names, for programs that have no event loop.

    from proreus.blocking import Client

    with Client.from_env() as client:
        for pod in client.core_v1.pods("default").list():
            print(pod.name)

One asyncio implementation does the work, on a thread of its own per client; this is a thin face
over it. What to know:

- **Threads.** Everything may be called from any thread. Listers are read in place, without a hop.
- **Callbacks.** Each handler of an informer has a thread of its own and one call at a time; each
  call of an operator's functions has a thread. They may block, call the client and close it.
  Index functions, transforms, predicates and mappings run on the client's own loop thread, where
  nothing here may be called; that raises.
- **Fork.** Threads do not survive a fork: make clients in the child. Using one from before raises.
- **Signals.** Ctrl-C interrupts the waiting call and cancels it; the loop thread sees no signals.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from proreus.blocking.client import Client
from proreus.blocking.groups import GroupClient
from proreus.blocking.informers import Informer, Lister, SharedInformerFactory
from proreus.blocking.resource_client import ResourceClient

if TYPE_CHECKING:
    from proreus.blocking.leadership import EventRecorder, LeaderElector, Term
    from proreus.blocking.operator import Operator, Reconciliation
    from proreus.blocking.typed import Typed, TypedInformer, register

__all__ = [
    "Client", "EventRecorder", "GroupClient", "Informer", "LeaderElector", "Lister", "Operator",
    "Reconciliation", "ResourceClient", "SharedInformerFactory", "Term", "Typed",
    "TypedInformer", "register",
]  # fmt: skip

# Loaded when first used: most programs need none of it.
_MODULE_OF = {
    "EventRecorder": "leadership",
    "LeaderElector": "leadership",
    "Operator": "operator",
    "Reconciliation": "operator",
    "Term": "leadership",
    "Typed": "typed",
    "TypedInformer": "typed",
    "register": "typed",
}

if not TYPE_CHECKING:  # else every misspelled name would pass the type checker

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
