"""Credentials of requests: tokens and certificates that may change while the client runs."""

from proreus.client.credentials.choose import credential_source
from proreus.client.credentials.source import Credential, CredentialError, CredentialSource
from proreus.client.credentials.tls import TlsIdentity

__all__ = ["Credential", "CredentialError", "CredentialSource", "TlsIdentity", "credential_source"]
