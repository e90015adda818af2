"""WebSockets (RFC 6455) from the server's side: the handshake, frames and messages."""
