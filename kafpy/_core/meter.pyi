"""A rate over sliding windows, and how long its source must be silent to come down to a bound.

Native only: its functions are declared in meter.pxd and called by the other native modules.
"""
