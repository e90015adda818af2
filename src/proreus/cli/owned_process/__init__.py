"""A process that another one starts, gives its order, reads the log of, and takes with it.

    owner ──socket pair, the process's stdin──▶ order, once; its end says that the owner is gone
          ◀──stderr── log lines, as JSON

``process`` is the owner's side, ``order`` is that of the process.
"""
