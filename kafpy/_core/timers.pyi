"""A plane's deadlines in a binary heap.

Native only: its functions are declared in timers.pxd and called by the other native modules.
"""
