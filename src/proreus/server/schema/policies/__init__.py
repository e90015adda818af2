"""What admission decides from other objects: classes, limit ranges, quotas.

Pure decisions: the plugin reads the objects and passes them in; these change the object they are
given or raise ``Refused``, whose text follows ``is forbidden: ``.
"""

from proreus.server.schema.policies.refused import Refused

__all__ = ["Refused"]
