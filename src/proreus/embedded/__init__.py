"""A declarative store with watch for your own application: see ``store``, and ``docs/embedded.md``.

``store`` has values of your classes, ``engine`` the parts of a server that it is made of, ``asgi``
everybody else's way to them.
"""

from proreus.api.status import AlreadyExists, Conflict, Invalid, NotFound
from proreus.client.custom_resources import Stored, custom_resource
from proreus.embedded.access import Caller, everyone
from proreus.embedded.store import Objects, Store, ValueChange, ValueWatch
from proreus.server.authz.authorizer import Action

__all__ = [
    "Action",
    "AlreadyExists",
    "Caller",
    "Conflict",
    "Invalid",
    "NotFound",
    "Objects",
    "Store",
    "Stored",
    "ValueChange",
    "ValueWatch",
    "custom_resource",
    "everyone",
]
