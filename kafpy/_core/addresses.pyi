"""Connections by the address they come from: how many there are, how fast new ones come, and what is too much.

Native only: its functions are declared in addresses.pxd and called by the other native modules.
"""
