"""Consumer groups of the new protocol (KIP-848), where the broker assigns partitions.

A heartbeat goes so: `check` the request, find or add the member (`heartbeat`), take in what it says (`steps`): its
subscription may bump the group's epoch, a group epoch ahead of the assignment's makes new targets (`targets`, by the
`uniform` or `range` assignor), and the member goes one step from what it has to its target (`reconcile`). All changes
are written on a `draft`, whose records are the result.
"""
