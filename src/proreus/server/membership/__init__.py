"""This server among those of its cluster: its lease, its address, the service ``kubernetes``.

All of it are objects and records in storage, so that several servers on one etcd, and their
clients, know who is there. Each part runs for ever and is started again when it dies.
"""
