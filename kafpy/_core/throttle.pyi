"""What quotas do to a connection: requests are charged, and a client above a bound is told, then not read.

Native only: its functions are declared in throttle.pxd and called by the other native modules.
"""
