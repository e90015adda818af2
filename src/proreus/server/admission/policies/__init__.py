"""Admission policies: expressions in CEL that refuse or change what is written.

    source → invocations → runner → decisions (validating) or patches (mutating)

``source`` keeps policies (``definition``) and their bindings as the watch caches have them;
``invocations`` finds those that a write concerns, with their ``params``; ``runner`` shows them the
request and runs their expressions (``compiled``, ``evaluation``); ``validating`` and ``mutating``
are the two plugins. ``type_checking`` compares expressions with the types they are about, for the
policy's status.
"""
