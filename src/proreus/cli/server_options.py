"""Options of ``server`` and ``up``, under kube-apiserver's names."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import Any

import click

from proreus.cli.admission_options import admission_options
from proreus.cli.audit_options import audit_options
from proreus.cli.authentication_options import authentication_options
from proreus.cli.authorization_options import authorization_options
from proreus.cli.etcd_options import etcd_file_options, etcd_option
from proreus.cli.options import (
    Command,
    Option,
    data_dir_option,
    duration,
    file_option,
    with_options,
)
from proreus.net.tls.key_pairs import PairFiles
from proreus.server.config import ConfigInvalid, ServerConfig
from proreus.server.credentials import kubeconfig_file
from proreus.server.storage.formatted import StorageFormat

_STREAMS = ServerConfig().http2_streams


def _pair(others: dict[str, Any], certificate_option: str, key_option: str) -> PairFiles | None:
    certificate, key = others.pop(certificate_option), others.pop(key_option)
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        names = (certificate_option.replace("_", "-"), key_option.replace("_", "-"))
        raise click.UsageError(f"{' and '.join(names)} must be specified together")
    return PairFiles(certificate, key)


def _http2_streams(others: dict[str, Any]) -> int:
    streams: int = others.pop("http2_max_streams_per_connection") or _STREAMS
    return 0 if others.pop("disable_http2_serving") else streams


def server_options(command: Command) -> Command:
    """Adds them, and calls the command with the ``config`` they make."""

    @wraps(command)
    def decided(
        *,
        data_dir: Path,
        bind_address: str,
        advertise_address: str,
        port: int,
        etcd: str,
        kubeconfig: Path | None,
        insecure_http: bool = False,
        event_ttl: float,
        **others: Any,
    ) -> None:
        if kubeconfig is None and not insecure_http:
            kubeconfig = kubeconfig_file(data_dir)
        try:
            config = ServerConfig(
                data_dir=data_dir,
                bind_address=bind_address,
                advertise_address=advertise_address,
                port=port,
                tls=not insecure_http,
                serving=_pair(others, "tls_cert_file", "tls_private_key_file"),
                etcd=tuple(filter(None, etcd.split(","))),
                etcd_ca_file=others.pop("etcd_cafile"),
                etcd_client=_pair(others, "etcd_certfile", "etcd_keyfile"),
                storage_format=StorageFormat(others.pop("storage_media_type")),
                encryption_config=others.pop("encryption_provider_config"),
                kubeconfig=kubeconfig and kubeconfig.absolute(),
                http2_streams=_http2_streams(others),
                goaway_chance=others.pop("goaway_chance"),
                compaction_s=others.pop("etcd_compaction_interval"),
                event_ttl_s=event_ttl,
                admission=others.pop("admission"),
                **others.pop("authorization"),
                audit=others.pop("audit"),
                authentication=others.pop("authentication"),
                proxy_client=_pair(others, "proxy_client_cert_file", "proxy_client_key_file"),
            )
        except ConfigInvalid as error:
            raise click.UsageError(str(error)) from error
        command(config=config, **others)

    return with_options(
        authentication_options(
            authorization_options(audit_options(admission_options(decided)))
        ),
        *_own_options(),
    )  # fmt: skip


def _own_options() -> tuple[Option, ...]:
    return (
        data_dir_option("Objects, keys and the kubeconfig are kept here."),
        click.option(
            "--bind-address", default="127.0.0.1", show_default=True, metavar="IP",
            help="Where it listens; 0.0.0.0: everywhere.",
        ),
        click.option(
            "--advertise-address", default="", metavar="IP",
            help="Where others reach it; default: the address it is bound to, unless loopback.",
        ),
        click.option(
            "--port", type=click.IntRange(0, 65535), default=6443, show_default=True,
            help="0 takes a free one.",
        ),
        file_option(
            "--tls-cert-file",
            "The certificate that clients see, and those that sign it; default: an own one. It is "
            "followed. By a loopback address the own one is shown, which the kubeconfig trusts.",
        ),
        file_option("--tls-private-key-file", "Its key."),
        click.option(
            "--http2-max-streams-per-connection", type=click.IntRange(0, 10_000),
            default=_STREAMS, show_default=True, metavar="N",
            help="Requests at a time on one connection of HTTP/2; 0: as many as by default.",
        ),
        click.option(
            "--disable-http2-serving", is_flag=True, help="Clients are offered HTTP/1.1 alone."
        ),
        click.option(
            "--goaway-chance", type=click.FloatRange(0, 0.02), default=0.0, show_default=True,
            metavar="SHARE",
            help="Share of answers over HTTP/2 behind which clients are told to connect anew, so "
            "that a load balancer spreads them over several servers; 0.001 is a good one.",
        ),
        etcd_option("Keep objects in etcd."),
        *etcd_file_options(),
        click.option(
            "--storage-media-type", type=click.Choice([one.value for one in StorageFormat]),
            default=StorageFormat.JSON.value, show_default=True,
            help="What objects are written in; either is read, whatever this says.",
        ),
        file_option("--encryption-provider-config", "What is encrypted before it is stored."),
        file_option("--kubeconfig", "Where to write it; default: in the data folder."),
        duration(
            "--etcd-compaction-interval", "5m",
            "For how long, and up to twice as long, the past can be read and watched, whatever "
            "the store is; 0: for good.",
        ),
        duration("--event-ttl", "1h", "How long events are kept."),
        file_option("--proxy-client-cert-file", "For aggregated API servers; default: an own one."),
        file_option("--proxy-client-key-file", "Its key."),
    )  # fmt: skip
