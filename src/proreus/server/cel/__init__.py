"""The Common Expression Language as Kubernetes defines it. Needs the extra ``cel``.

``checker`` is the library: text → tree (``syntax``) with types, for variables whose types are
``shapes``. ``estimate`` says what the tree can cost at most; ``evaluate`` makes it run, metered
(``meter``), over ``functions``, at a ``pace`` that leaves the loop to others. ``admission`` has
the variables of webhooks' and policies' expressions, ``policy`` compiles those of one policy, and
``initializers`` are the objects that mutations make.
"""

WITHOUT_CEL = (
    "this server was installed without the extra `cel`, which expressions need: "
    "pip install 'proreus[cel]'"
)
