"""What servers of further APIs must know to accept this server's requests: a ConfigMap.

``extension-apiserver-authentication`` in kube-system has the authorities of client certificates and
of front proxies, and the headers of these. Several servers write it: authorities are added to those
that are there, and all else is what the last server says.
"""

from __future__ import annotations

from collections.abc import Mapping

from proreus.aio.clock import Clock
from proreus.api.status import AlreadyExists, Conflict, NotFound
from proreus.api.wire import json
from proreus.net.tls.certificates import FRONT_PROXY_CLIENT
from proreus.server.authn.authorities import Authorities
from proreus.server.authn.options import RequestHeaderOptions
from proreus.server.registry.collections import Collections
from proreus.server.registry.verbs.create import Create
from proreus.server.registry.verbs.update import replacing
from proreus.server.registry.write import Write

NAME = "extension-apiserver-authentication"
# What this server sends; these are the names in clusters made by kubeadm.
_OWN_LISTS: Mapping[str, tuple[str, ...]] = {
    "allowed-names": (FRONT_PROXY_CLIENT,),
    "extra-headers-prefix": ("X-Remote-Extra-",),
    "group-headers": ("X-Remote-Group",),
    "uid-headers": ("X-Remote-Uid",),
    "username-headers": ("X-Remote-User",),
}
_CLIENTS, _PROXIES = "client-ca-file", "requestheader-client-ca-file"


def trust_data(
    clients: Authorities,
    proxies: Authorities,
    options: RequestHeaderOptions | None,
    own_proxy: str = "",
) -> dict[str, str]:
    """``own_proxy``: the authority (PEM) of a front-proxy certificate that this server made; it is
    trusted by those who read this, and not by this server."""
    data = {_CLIENTS: clients.pem} if clients.pem else {}
    if own_proxy:
        proxies += Authorities.parse(own_proxy)
    if options is not None:
        names = options.allowed_names
        lists: Mapping[str, tuple[str, ...]] = {
            "allowed-names": (*names, FRONT_PROXY_CLIENT) if names and own_proxy else names,
            "extra-headers-prefix": options.extra_headers_prefix,
            "group-headers": options.group_headers,
            "uid-headers": options.uid_headers,
            "username-headers": options.username_headers,
        }
    elif own_proxy:
        lists = _OWN_LISTS
    else:
        return data
    named = {
        f"requestheader-{name}": json.encode(list(values)).decode()
        for name, values in lists.items()
    }
    return {**data, _PROXIES: proxies.pem, **named}


def merged(stored: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """What is to be stored: authorities that others rely on stay."""
    data = {**stored, **own}
    for name in (_CLIENTS, _PROXIES):
        if name in stored and name in own:
            try:
                data[name] = (Authorities.parse(stored[name]) + Authorities.parse(own[name])).pem
            except ValueError:
                continue  # what is there is of no use to anybody
    return data


async def publish_trust(collections: Collections, clock: Clock, own: Mapping[str, str]) -> None:
    if not own:
        return
    collection = collections.named("", "v1", "configmaps")
    write = Write.of_server(collection, "kube-system", NAME, clock.now())
    stored = await collection.store.get(collection.key(write.namespace, NAME))
    obj = {"metadata": {"name": NAME, "namespace": "kube-system"}, "data": dict(own)}
    try:
        if stored is None:
            await Create(write, {"kind": "ConfigMap", "apiVersion": "v1", **obj}).commit()
            return
        found = collection.decode(stored)
        data = merged(found.get("data") or {}, own)
        if data != found.get("data"):
            await replacing(write, {**found, "data": data}).commit()
    except (AlreadyExists, NotFound, Conflict):
        return  # another server is at it
