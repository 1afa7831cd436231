"""The append that moves a log's segments, limits, producers and waiters.

Native only: its functions are declared in append.pxd and called by the other native modules.
"""
