"""Custom resources: kinds that users define while the server runs (server.md §9).

``definition`` says what a definition must look like, ``schema`` is what its schemas do to objects,
``conversion`` makes one version of another, ``serving`` makes Resources of definitions. The
``controller`` follows the definitions and has them served: start there.
"""
