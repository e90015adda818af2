"""Storage in etcd v3: for more than one machine, or where an etcd runs already.

It needs the extra ``etcd`` and says so.
"""

try:
    import google.protobuf  # noqa: F401
except ImportError as missing:
    raise ImportError("storage in etcd needs protobuf: pip install 'proreus[etcd]'") from missing

from proreus.server.storage.etcd.config import EtcdConfig
from proreus.server.storage.etcd.store import EtcdStorage

__all__ = ["EtcdConfig", "EtcdStorage"]
