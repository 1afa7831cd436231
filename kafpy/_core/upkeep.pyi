"""What helpers do for a log behind its appends.

Native only: its functions are declared in upkeep.pxd and called by the other native modules.
"""
