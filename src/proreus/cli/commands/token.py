"""``proreus token``: a kubeconfig with a token of a service account, or the token alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from proreus.api.object import KubeObject
from proreus.api.status import ApiError, NotFound
from proreus.api.wire import yaml
from proreus.cli.kubeconfig_output import about, output_option, put
from proreus.cli.options import data_dir_option, duration
from proreus.client import Client, ClientConfig, ConfigError, load_config
from proreus.client.service_account_tokens import request_token
from proreus.net.client.transport_error import TransportError
from proreus.server.credentials import Login, kubeconfig, kubeconfig_file

_MIN_S = 600.0


@click.command()
@click.option("--service-account", "name", required=True, metavar="NAME", help="Whose token.")
@click.option("--namespace", "-n", default="default", show_default=True, help="Of the account.")
@duration("--ttl", "1h", "How long the token is good; 10m at least.")
@click.option(
    "--audience", "audiences", multiple=True,
    help="Who is to accept it, default: the API server; may be repeated.",
)  # fmt: skip
@click.option("--raw", is_flag=True, help="The token alone, as kubectl create token prints it.")
@click.option(
    "--kubeconfig", "file", type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="To ask the server with; default: the administrator's, in the data folder.",
)  # fmt: skip
@data_dir_option("Of the server that is asked.")
@output_option
def token(
    name: str,
    namespace: str,
    ttl: float,
    audiences: tuple[str, ...],
    raw: bool,
    file: Path | None,
    data_dir: Path,
    output: Path,
) -> None:
    """Print a kubeconfig with a service account's token.

    The token ends by itself, and with the account. The server must be running.
    """
    if ttl < _MIN_S:
        raise click.UsageError("--ttl must be 10m at least")
    config = _config(file or kubeconfig_file(data_dir))
    spec = {"expirationSeconds": round(ttl), "audiences": list(audiences)}
    status = asyncio.run(_request(config, namespace, name, spec)).status
    if raw:
        put(f"{status.token}\n".encode(), output)
        return
    login = Login(f"system:serviceaccount:{namespace}:{name}", status.token)
    found = kubeconfig(config.host, config.tls.read_ca(), login, namespace=namespace)
    put(yaml.encode(found), output)
    about(f"the token is good until {status.expirationTimestamp}")


async def _request(
    config: ClientConfig, namespace: str, name: str, spec: dict[str, object]
) -> KubeObject:
    """Raises ClickException."""
    try:
        async with Client(config) as client:
            accounts = client.core_v1.serviceaccounts(namespace)
            return await request_token(accounts, name, spec)
    except NotFound as error:
        why = (
            f"{error.message} in the namespace {namespace}; `kubectl create serviceaccount {name} "
            f"-n {namespace}` makes it"
        )
        raise click.ClickException(why) from error
    except ApiError as error:
        raise click.ClickException(f"the server refused: {error.message}") from error
    except TransportError as error:
        why = f"the server cannot be reached at {error}; is it running?"
        raise click.ClickException(why) from error


def _config(file: Path) -> ClientConfig:
    try:
        return load_config(file)
    except ConfigError as error:
        why = f"{error}; start a server, or name its folder with --data-dir"
        raise click.ClickException(why) from error
