"""Real servers that stand in for what the product talks to."""
