"""Signs approved requests for Kubernetes' own signers with the cluster's authority.

Receives: keys of CertificateSigningRequests. A request that does not fit its signer gets the
condition ``Failed`` and is never looked at again.
"""

from __future__ import annotations

import asyncio
import base64
import logging

from proreus.api.object import KubeObject
from proreus.api.values.timestamp import format_time
from proreus.client.conditions import condition, is_true, present
from proreus.client.controller import Controller, Result, RetryLater
from proreus.cluster.controllers.certificates import signers
from proreus.cluster.controllers.certificates.reading import is_approved, is_issued, read
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.net.tls.key_pairs import PairFiles

log = logging.getLogger(__name__)


class Unfit(Exception):
    """The request does not fit its signer; the message says why."""


class Signing(ObjectReconciler):
    """``authority``: None signs nothing. Its files are read anew for every certificate."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, signers.REQUESTS)
        self._authority = context.settings.cluster_signing
        self._max_s = context.settings.cluster_signing_duration_s
        if self._authority is None:
            log.info("certificate signing requests are not signed: no authority is given")

    async def sync(self, request: KubeObject) -> Result | None:
        if self._authority is None or is_issued(request):
            return None
        if not is_approved(request) or is_true(request, "Failed"):
            return None
        status = request.to_dict().get("status") or {}
        try:
            signed = await asyncio.to_thread(self._sign, request, self._authority)
        except Unfit as why:
            now = self.clock.now()
            failed = condition("Failed", "True", "SignerValidationFailure", str(why), now)
            failed["lastUpdateTime"] = format_time(now)
            await self.write_status(request, {**status, "conditions": [*present(request), failed]})
            return None
        if signed is not None:
            certificate = base64.b64encode(signed).decode()
            await self.write_status(request, {**status, "certificate": certificate})
        return None

    def _sign(self, request: KubeObject, files: PairFiles) -> bytes | None:
        """None: it is another signer's. Raises Unfit, RetryLater, TerminalError."""
        from proreus.net.tls.signing import CannotSign, sign_request

        spec, (loaded, asked) = request.spec, read(request)
        usages = list(spec.usages or ())
        why = signers.fault(spec.signerName, asked, usages)
        if why is None:
            return None
        if why:
            raise Unfit(why)
        lasts_s = signers.lasts_s(spec.expirationSeconds, self._max_s)
        try:
            return sign_request(files.read(), loaded, usages, now=self.clock.now(), lasts_s=lasts_s)
        except (CannotSign, OSError) as error:
            raise RetryLater(f"cannot sign with {files.certificate}: {error}") from error


def signing_controller(context: ControllerContext) -> Controller:
    return Signing(context).controller("csrsigning")
