"""Sockets, TLS, HTTP and WebSocket for both ends."""
