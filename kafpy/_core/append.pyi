"""The append that moves a log's segments, limits, producers and waiters, and the helpers' work that follows it.

Native only: its functions are declared in append.pxd and called by the other native modules.
"""
