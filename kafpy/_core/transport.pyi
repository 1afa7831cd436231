"""Sockets of a plane: accepting within limits, sending replies with sendfile between their bytes, closing.

Native only: its functions are declared in transport.pxd and called by the other native modules.
"""
