"""From an offset or a timestamp to bytes of a file.

Native only: its functions are declared in locate.pxd and called by the other native modules.
"""
