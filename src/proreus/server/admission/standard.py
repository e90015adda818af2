"""The plugins of a server, in the order they run in: what changes objects, then what judges them.

What counts usage, and what gives out addresses, comes last: nothing may refuse after it.
"""

from __future__ import annotations

import ipaddress

from proreus.aio.clock import Clock
from proreus.server.admission.chain import chain
from proreus.server.admission.plugins.limit_ranger import LimitRanger
from proreus.server.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from proreus.server.admission.plugins.pod_classes import PodClasses
from proreus.server.admission.plugins.resource_quota import ResourceQuota
from proreus.server.admission.plugins.service_addresses import ServiceAddresses
from proreus.server.admission.plugins.signing_requests import SigningRequests
from proreus.server.registry.collections import Collections
from proreus.server.registry.write import Admission
from proreus.server.storage.factory import StorageFactory

_SERVICE_NETWORK = ipaddress.IPv4Network("10.0.0.0/16")


def standard_admission(collections: Collections, stores: StorageFactory, clock: Clock) -> Admission:
    named = collections.named
    lifecycle = NamespaceLifecycle(named("", "v1", "namespaces"), clock)
    classes = PodClasses(
        named("scheduling.k8s.io", "v1", "priorityclasses"),
        named("node.k8s.io", "v1", "runtimeclasses"),
    )
    signing = SigningRequests(clock)
    limits = LimitRanger(named("", "v1", "limitranges"))
    quota = ResourceQuota(named("", "v1", "resourcequotas"))
    addresses = ServiceAddresses(
        named("", "v1", "services"),
        stores.store("ranges/serviceips"),
        stores.store("ranges/servicenodeports"),
        _SERVICE_NETWORK,
        clock,
    )
    return chain(
        mutating=[lifecycle.admit, classes.admit, signing.admit, limits.set_defaults],
        validating=[limits.check_bounds, quota.admit, addresses.admit],
    )
