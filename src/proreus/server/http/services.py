"""What handlers work with: the parts of one server."""

from __future__ import annotations

from proreus.aio.clock import Clock
from proreus.lazy_dataclass import dataclass
from proreus.server.aggregation.remotes import Remotes
from proreus.server.authn.chain import Authentication
from proreus.server.authn.service_accounts import ServiceAccountTokens
from proreus.server.authz.authorizer import Authorization
from proreus.server.http.body import ObjectDecoder
from proreus.server.http.client_reports import ClientReports
from proreus.server.http.instruments import WrapSink
from proreus.server.http.kubelets import Kubelets
from proreus.server.http.open_watches import OpenWatches
from proreus.server.http.rendering import Rendering
from proreus.server.http.representation import Representations
from proreus.server.offload import Offload
from proreus.server.registry.admission import Admission
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collection import Collection
from proreus.server.registry.collections import Collections
from proreus.server.registry.kinds import KnownKinds
from proreus.server.resource import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    clock: Clock
    catalog: Catalog
    collections: Collections
    kinds: KnownKinds
    decoder: ObjectDecoder
    representations: Representations
    admission: Admission
    authentication: Authentication
    authorization: Authorization
    service_accounts: ServiceAccountTokens
    kubelets: Kubelets
    remotes: Remotes
    offload: Offload
    open_watches: OpenWatches
    client_reports: ClientReports
    rendering: Rendering
    wrap_sink: WrapSink

    def collection(self, resource: Resource) -> Collection:
        return self.collections.get(resource)
