"""What list-watch is doing, for people: ``/debug/listwatch/…`` and ``/debug/history…``.

Authorized as paths of no resource, so for administrators unless a role says otherwise. They read
what is there; nothing is measured for them that an event would pay for. See ``docs/debug.md``.
"""
