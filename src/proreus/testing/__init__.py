"""For programs under test: a virtual clock, a server in the test process, faults on demand."""
