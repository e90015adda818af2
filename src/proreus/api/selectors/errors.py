"""A selector that cannot be read. The message is the one Kubernetes gives (server.md §2.6)."""


class SelectorError(ValueError):
    pass
