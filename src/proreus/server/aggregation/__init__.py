"""API aggregation: group versions that other API servers serve, behind this one.

An ``APIService`` object gives a group version to this server or to a service in the cluster.
``local_services`` makes those of what is served here. ``remotes`` follows all of them: each version
of another server is a ``remote``, which checks whether the server is there (``availability``), asks
it what it serves (``discovered``) and hands requests through to it (``backend``).
"""
