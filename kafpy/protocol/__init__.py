"""What a message looks like on the wire; pure."""
