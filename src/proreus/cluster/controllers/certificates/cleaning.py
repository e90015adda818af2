"""Removes signing requests that are of no use any more, once an hour.

What was issued has been fetched within an hour; what nobody decides within a day is forgotten.
"""

from __future__ import annotations

import asyncio
import base64
import logging

from proreus.api.object import KubeObject
from proreus.api.status import NotFound
from proreus.api.values.timestamp import parse_time
from proreus.client.conditions import find
from proreus.cluster.controllers.batches import concurrently
from proreus.cluster.controllers.certificates.reading import is_issued
from proreus.cluster.controllers.certificates.signers import REQUESTS
from proreus.cluster.controllers.context import ControllerContext

log = logging.getLogger(__name__)

PERIOD_S = 3600.0
APPROVED_S = 3600.0
DENIED_S = 3600.0
PENDING_S = 24 * 3600.0


def is_outdated(request: KubeObject, now: float) -> bool:
    """By what became of it, and since when."""

    def is_older(kind: str, age_s: float) -> bool:
        since = (find(request, kind) or {}).get("lastUpdateTime")
        return since is not None and now - parse_time(since) > age_s

    if is_older("Denied", DENIED_S) or is_older("Failed", DENIED_S):
        return True
    if is_older("Approved", APPROVED_S if is_issued(request) else PENDING_S):
        return True
    if not (request.status or {}).get("conditions"):
        return now - parse_time(request["metadata"]["creationTimestamp"]) > PENDING_S
    return find(request, "Approved") is not None and _has_expired(request, now)


def _has_expired(request: KubeObject, now: float) -> bool:
    if not is_issued(request):
        return False
    from cryptography.x509 import load_pem_x509_certificate

    try:
        found = load_pem_x509_certificate(base64.b64decode(request.status.certificate))
    except ValueError:
        return False  # another signer's; it ages as all do
    return found.not_valid_after_utc.timestamp() < now


class RequestCleaner:
    """``run`` until cancelled."""

    def __init__(self, context: ControllerContext) -> None:
        self._clock = context.clock
        self._api = context.client.resource(REQUESTS)
        self._requests = context.informers.informer(REQUESTS)

    async def run(self) -> None:
        await self._requests.wait_synced()
        while True:
            await self.clean()
            await self._clock.sleep(PERIOD_S)

    async def clean(self) -> None:
        """One pass. What fails is tried again in the next."""
        now, requests = self._clock.now(), self._requests.indexer.objects()
        outdated = await asyncio.to_thread(
            lambda: [request for request in requests if is_outdated(request, now)]
        )
        failures = await concurrently(outdated, self._remove)
        if failures:
            log.warning("requests not removed: count=%d first=%s", len(failures), failures[0])

    async def _remove(self, request: KubeObject) -> None:
        try:
            await self._api.delete(request.name, uid=request.uid)
        except NotFound:
            return
