"""Fetch, versions 4 to 18, from the frame's bytes to a reply of bytes and file slices, without Python.

Native only: its functions are declared in fetch.pxd and called by the other native modules.
"""
