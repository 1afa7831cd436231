"""Who decides in a group or a transaction: pure state machines (result, group/) and the runtime that drives them."""
