"""``proreus kubeconfig``: the administrator's, or one for somebody else with a certificate of their
own. No server needs to run."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import click

from proreus.aio.clock import SystemClock
from proreus.api.values.timestamp import format_time
from proreus.api.wire import yaml
from proreus.cli.kubeconfig_merge import merge_into
from proreus.cli.kubeconfig_output import about, output_option, put
from proreus.cli.options import data_dir_option, duration
from proreus.cli.ready import say
from proreus.client.client_config import ConfigError
from proreus.client.config.loading import kubeconfig_paths, load_config
from proreus.lazy_dataclass import dataclass
from proreus.net.private_files import NotPrivate
from proreus.net.tls.certificate_authority import CertificateAuthority, NoAuthority
from proreus.net.tls.key_pairs import KeyPair
from proreus.server.credentials import Login, kubeconfig_file, tls_folder
from proreus.server.credentials import kubeconfig as kubeconfig_of


@click.command()
@click.option("--user", metavar="NAME", help="Whom it is for; default: the administrator.")
@click.option(
    "--group", "groups", multiple=True, metavar="NAME", help="A group of theirs; may be repeated."
)
@duration("--ttl", "1h", "How long the certificate is good.")
@click.option(
    "--server", "url", metavar="URL",
    help="Where the server is reached; default: as in the administrator's kubeconfig.",
)  # fmt: skip
@data_dir_option("Of the server whose authority signs the certificate.")
@output_option
@click.option(
    "--print/--merge", "is_printed", default=True, show_default=True,
    help="Print it, or put it into your own kubeconfig (KUBECONFIG, ~/.kube/config) and use it.",
)  # fmt: skip
@click.option("--context", "name", default="proreus", show_default=True, metavar="NAME",
              help="What --merge calls it.")  # fmt: skip
def kubeconfig(
    user: str | None,
    groups: tuple[str, ...],
    ttl: float,
    url: str | None,
    data_dir: Path,
    output: Path,
    is_printed: bool,
    name: str,
) -> None:
    """Print or merge a kubeconfig: the administrator's, or one for --user.

    A certificate cannot be revoked: keep its --ttl short, and grant rights to the user by roles.
    """
    if user is None:
        if groups or url:
            raise click.UsageError("--group and --server are for a --user; name one")
        found, note = _administrators(data_dir), ""
    else:
        found, note = _users(Wanted(user, groups, ttl, url), data_dir)
    if is_printed:
        put(found, output)
    else:
        _merge(found, name)
    if note:
        about(note)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Whom a certificate is for, and where it is used."""

    user: str
    groups: tuple[str, ...]
    ttl_s: float
    url: str | None


def _users(wanted: Wanted, data_dir: Path) -> tuple[bytes, str]:
    """The kubeconfig, and what to know of it. Raises ClickException."""
    user, ttl_s = wanted.user, wanted.ttl_s
    if not user or ttl_s <= 0:
        raise click.UsageError("--user needs a name, and --ttl a time that is longer than 0s")
    authority = _authority(data_dir)
    try:
        now = SystemClock().now()
        certificate = authority.issue_client(user, wanted.groups, lasts_s=ttl_s, now=now)
    except ValueError as error:
        why = f"a certificate cannot hold these names: {error}; choose others"
        raise click.ClickException(why) from error
    except NotPrivate as error:
        raise click.ClickException(str(error)) from error
    login = Login(user, certificate=certificate)
    found = kubeconfig_of(wanted.url or _url(data_dir), authority.certificate, login)
    return yaml.encode(found), f"{user} may log in with it until {_end(certificate)}"


def _merge(found: bytes, name: str) -> None:
    paths = kubeconfig_paths(os.environ)
    if not paths:
        raise click.ClickException("neither KUBECONFIG nor HOME says where to merge to; set one")
    path = next((one for one in paths if one.is_file()), paths[0])
    result = merge_into(found, path, name)
    lines = [f"{path} has the context {name}, which is the current one now"]
    if result.before not in ("", name):
        back = shlex.quote(result.before)
        lines.append(f"back to the one before: kubectl config use-context {back}")
    say(*lines)


def _end(certificate: KeyPair) -> str:
    """At the latest when its authority ends."""
    from cryptography.x509 import load_pem_x509_certificate

    found = load_pem_x509_certificate(certificate.certificate)
    return format_time(found.not_valid_after_utc.timestamp())


def _authority(data_dir: Path) -> CertificateAuthority:
    try:
        return CertificateAuthority.of(tls_folder(data_dir))
    except NoAuthority as error:
        raise _no_server(data_dir) from error


def _administrators(data_dir: Path) -> bytes:
    try:
        return kubeconfig_file(data_dir).read_bytes()
    except OSError as error:
        raise _no_server(data_dir) from error


def _url(data_dir: Path) -> str:
    """Raises ClickException."""
    try:
        return load_config(kubeconfig_file(data_dir)).host
    except ConfigError as error:
        why = f"{kubeconfig_file(data_dir)} does not say where the server is; give --server URL"
        raise click.ClickException(why) from error


def _no_server(data_dir: Path) -> click.ClickException:
    return click.ClickException(
        f"no server was ever started on {data_dir}; start one with `proreus up --data-dir "
        f"{data_dir}`, or name its folder with --data-dir"
    )
