"""Fetch sessions (KIP-227): the partitions a client follows, kept between its requests so that it names only changes.

Native only: its functions are declared in sessions.pxd and called by the other native modules.
"""
