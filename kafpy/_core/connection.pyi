"""One client's side of a plane without its socket: bytes of unfinished frames, and ordered slots for replies.

Native only: its functions are declared in connection.pxd and called by the other native modules.
"""
