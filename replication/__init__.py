"""Who is in sync and who leads. Arrives with clusters; nothing here yet."""
