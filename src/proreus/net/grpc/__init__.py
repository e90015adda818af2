"""gRPC's client side: calls and streams on one HTTP/2 connection, in the loop of their callers.

    channel      the address: connects when it is called, and anew when a connection is over
    connection   one connection on the loop: writes once per turn, deadlines, keep-alive
    session      HTTP/2 without a socket: bytes in, messages and bytes out
    messages     gRPC messages cut out of DATA frames
    header_blocks, frames   bytes of requests' heads, of frames, and the answers' heads read

Why not a library: grpcio polls on a thread of its own and wakes the loop for every step of a call,
which costs 150 to 200 µs of CPU per call; h2 is made for any HTTP/2, and reads every head anew. Of
HTTP/2 a client of gRPC needs little, and a peer repeats its heads byte by byte.
"""
