"""One .log file with its sparse index: batches one after the other, named by the first offset it may hold.

Native only: its functions are declared in segment.pxd and called by the other native modules.
"""
