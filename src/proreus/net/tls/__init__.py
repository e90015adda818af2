"""TLS: certificates, contexts, and the transport of the server, which encrypts on the socket."""
