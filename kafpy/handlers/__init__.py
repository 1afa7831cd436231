"""What an API means: one small file each."""
