"""Client quotas: which bounds a connection's client id comes under, and the meters that say when it is above them.

Native only: its functions are declared in quotas.pxd and called by the other native modules.
"""
