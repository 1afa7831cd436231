"""Cutting a log's end off.

Native only: its functions are declared in truncate.pxd and called by the other native modules.
"""
