"""What a log knows of its idempotent producers: per producer id the epoch and the last five batches.

Native only: its functions are declared in producers.pxd and called by the other native modules.
"""
