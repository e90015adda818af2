"""The kubelet's own endpoint: logs, commands and port-forwards, for the API server."""

from proreus.cluster.kubelet.server.identity import endpoint_context as endpoint_context
from proreus.cluster.kubelet.server.server import KubeletServer as KubeletServer
