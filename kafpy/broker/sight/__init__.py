"""What operators and their tools see of a running broker: metrics, health, and the HTTP listener that shows them."""
