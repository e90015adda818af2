"""HTTP/2 as a server (RFC 9113): many requests on one connection, each on a stream of its own."""
