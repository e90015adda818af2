"""HTTP/1.1 as a server: requests are read, handed to one handler, and answered in order."""
