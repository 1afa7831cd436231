"""The reply to a Fetch: which partitions it shows, and its bytes with file slices between them.

Native only: its functions are declared in fetch_reply.pxd and called by the other native modules.
"""
