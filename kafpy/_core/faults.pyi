"""Faults that somebody asked for: requests that are answered with errors, replies that come late.

Native only: its functions are declared in faults.pxd and called by the other native modules.
"""
