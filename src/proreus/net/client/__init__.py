"""HTTP and WebSockets as a client, on aiohttp, and the errors they raise."""
