"""Backups of a store, and stores made of backups: of SQLite, of etcd, from one to the other.

A backup is a file in the format of the SQLite store (``sqlite/statements``): one row per write that
is still readable, with its revision and a checksum. So it is what ``sqlite3`` can look into, and
what a server can be started on.

    file      reads the rows of a database as of one moment, writes a new one, verifies it
    extent    which revisions it has
    folder    the store of a data folder, as a source and as a target
    etcd      an etcd as a source
    replay    an etcd as a target

Invariant: bytes are copied as they are stored, encrypted ones included. A store that is made of a
backup has the backup's revisions, or its history begins behind every revision that was ever seen:
who resumes gets the right changes or 410, never wrong ones (docs/guarantees.md, resumable).
"""
