"""One file per verb: options, negotiation, the registry's verb, the answer."""
