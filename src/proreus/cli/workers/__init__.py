"""``proreus server --workers N``: one server of several processes that share a port.

    owner ──starts, ends──▶ process ──socket pair──▶ worker: an ApiServer in a process of its own

The owner serves nothing. It holds the port, makes the files that all of them need, starts one again
that ended, and ends with them. Towards the store and each other workers are what servers on several
machines are: they agree through etcd and know nothing of each other.
"""
