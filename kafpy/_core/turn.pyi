"""A plane's thread: wait, drain every ready socket, commit, send; and what becomes of a frame.

Native only: its functions are declared in turn.pxd and called by the other native modules.
"""
