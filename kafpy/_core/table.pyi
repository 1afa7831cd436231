"""Which partition is which log: topic name or id to a native entry, for planes that may not ask Python.

Native only: its functions are declared in table.pxd and called by the other native modules.
"""
