"""TLS contexts: of our servers, and of clients that check a server's certificate or take any."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path

from proreus.net.tls.key_pairs import PairFiles, UnusableFiles


def server_context(
    pair: PairFiles, client_authorities: str, *, resumes: bool = True
) -> ssl.SSLContext:
    """Ask clients for a certificate of one of the authorities (PEM), but do not insist.

    ``resumes``: whether clients may come back without a whole handshake, of which it is not known
    then which authority it was. Raises UnusableFiles.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(pair.certificate, pair.key)
    except ssl.SSLError as error:
        raise UnusableFiles(pair) from error
    context.load_verify_locations(cadata=client_authorities)
    context.verify_mode = ssl.CERT_OPTIONAL
    # An authority that is named is trusted, whoever signed it.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if not resumes:
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0
    return context


def showing_own_at(
    given: ssl.SSLContext, own: ssl.SSLContext, is_own: Callable[[str], bool]
) -> ssl.SSLContext:
    """``given``, but clients that name no host and connect to an address that ``is_own`` see what
    ``own`` shows."""

    def choose(connection: ssl.SSLSocket, name: str | None, _: ssl.SSLContext) -> None:
        if name is None and is_own(connection.getsockname()[0]):
            connection.context = own

    # Typeshed knows of objects alone; a connection of ``TlsListener`` is a socket.
    given.sni_callback = choose  # type: ignore[assignment]
    return given


def trusting_context(pair: PairFiles | None) -> ssl.SSLContext:
    """Accept any server certificate, and present our own if there is one.

    What is sent cannot be read or changed on the way, except by who answers at the address.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if pair is not None:
        context.load_cert_chain(pair.certificate, pair.key)
    return context


def checking_context(
    authorities: Path | None, pair: PairFiles | None, protocol: str
) -> ssl.SSLContext:
    """Accept servers of these authorities (None: the system's), and present our own certificate if
    there is one. ``protocol`` is what is spoken. Raises OSError, SSLError among them."""
    context = ssl.create_default_context(cafile=authorities)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if authorities is not None:
        # An authority that is named is trusted, whoever signed it and however it was made.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if pair is not None:
        context.load_cert_chain(pair.certificate, pair.key, password="")
    context.set_alpn_protocols([protocol])
    return context
