"""Produce, versions 3 to 13, from the frame's bytes to the reply's, without Python.

Native only: its functions are declared in produce.pxd and called by the other native modules.
"""
