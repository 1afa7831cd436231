"""Rows for Spark. Arrives with the data source; nothing here yet."""
