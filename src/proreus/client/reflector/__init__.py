"""List, then watch, resume or relist: one collection, followed until cancelled."""

from proreus.client.reflector.list_watch import ListWatch
from proreus.client.reflector.reflector import Reflector, ReflectorConfig, ReflectorSink

__all__ = ["ListWatch", "Reflector", "ReflectorConfig", "ReflectorSink"]
