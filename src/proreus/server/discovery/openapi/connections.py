"""Parameters of logs and of connections: to pods, and through the server to services and nodes."""

from __future__ import annotations

from proreus.server.discovery.openapi.parameters import Parameter

PATH = Parameter("path", where="path", description="What to ask there for.", hash="z6Ciiujn")
# In HTTP's order; a proxy passes on all of them.
PROXY_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")


def _streams(stderr: str, stdin: str, stdout: str, tty: str) -> tuple[Parameter, ...]:
    return (
        Parameter("stderr", "boolean", description="Stream its errors.", hash=stderr),
        Parameter("stdin", "boolean", description="Stream its input.", hash=stdin),
        Parameter("stdout", "boolean", description="Stream its output.", hash=stdout),
        Parameter("tty", "boolean", description="On a terminal of its own.", hash=tty),
    )


def _container(mark: str) -> Parameter:
    return Parameter("container", description="Which container, if there are several.", hash=mark)


def _proxied(mark: str) -> tuple[Parameter, ...]:
    return (Parameter("path", description="What to ask there for.", hash=mark),)


LOG = (
    _container("1GeXxFDC"),
    Parameter("follow", "boolean", description="Go on as it is written.", hash="9OIXh_2R"),
    Parameter(
        "insecureSkipTLSVerifyBackend",
        "boolean",
        description="Do not check who the kubelet is.",
        hash="gM00jVbe",
    ),
    Parameter("limitBytes", "integer", description="The most bytes to send.", hash="zwd1RXuc"),
    Parameter("previous", "boolean", description="Of the container before.", hash="1jxDPu3y"),
    Parameter("sinceSeconds", "integer", description="No lines older than this.", hash="vE2NLdnP"),
    Parameter("stream", description="All, Stdout or Stderr.", hash="l-48cgXv"),
    Parameter("tailLines", "integer", description="The most lines to send.", hash="9xQLWHMV"),
    Parameter("timestamps", "boolean", description="Begin lines with a time.", hash="c17fW1w_"),
)

BY_KIND: dict[str, tuple[Parameter, ...]] = {
    "PodAttachOptions": (
        _container("_Q-EJ3nR"),
        *_streams("26jJhFUR", "sEFnN3IS", "005YMKE6", "g7MlET_l"),
    ),
    "PodExecOptions": (
        Parameter("command", description="What to run, a word at a time.", hash="Py3eQybp"),
        _container("i5dOmRiM"),
        *_streams("W_1TNlWc", "PSzNhyUC", "-EZLRwV1", "s0flW37O"),
    ),
    "PodPortForwardOptions": (
        Parameter("ports", "integer", description="The ports, over WebSocket.", hash="91KROJmm"),
    ),
    "PodProxyOptions": _proxied("oPbzgLUj"),
    "ServiceProxyOptions": _proxied("QCf0eosM"),
    "NodeProxyOptions": _proxied("rFDtV0x9"),
}
