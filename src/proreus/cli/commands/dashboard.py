"""``proreus dashboard``: a new link that logs in to the dashboard of a running cluster."""

from __future__ import annotations

import asyncio
import webbrowser
from pathlib import Path

import click

from proreus.api.status import ApiError, Forbidden, NotFound
from proreus.cli.cluster_config import cluster_config, kubeconfig_option
from proreus.cli.options import data_dir_option
from proreus.cli.ready import say
from proreus.client import Client, ClientConfig
from proreus.client.rest.request import RestRequest
from proreus.client.rest.retry import RetryPolicy
from proreus.dashboard.dashboard import LINKS_PATH
from proreus.net.client.transport_error import TransportError

_PATIENCE_S = 10.0


@click.command()
@data_dir_option("Of the cluster.")
@kubeconfig_option
@click.option("--open", "opens", is_flag=True, help="Open it in the browser.")
def dashboard(data_dir: Path, file: Path | None, *, opens: bool) -> None:
    """Print a link that logs in to the dashboard, once and within ten minutes.

    It logs in as whose token the kubeconfig has.
    """
    config = cluster_config(data_dir, file)
    try:
        link = asyncio.run(_new_link(config))
    except (NotFound, Forbidden) as error:
        # A path that nothing is mounted at is one that few may ask for.
        raise click.ClickException(
            f"{config.host} serves no dashboard: `proreus up` without --no-dashboard does"
        ) from error
    except ApiError as error:
        raise click.ClickException(f"the dashboard refused: {error.message}") from error
    except (TransportError, TimeoutError) as error:
        raise click.ClickException(
            f"{config.host} is not running; `proreus up` starts it"
        ) from error
    say(link)
    if opens:
        webbrowser.open(link)


async def _new_link(config: ClientConfig) -> str:
    async with (
        asyncio.timeout(_PATIENCE_S),
        Client(config, retry=RetryPolicy(retries_max=0)) as client,
    ):
        made = await client.rest.get_json(RestRequest("create", "POST", LINKS_PATH, body=b"{}"))
    return f"{config.host.rstrip('/')}{made['path']}"
