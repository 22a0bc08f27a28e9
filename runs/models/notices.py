"""Who is told when a run ends, and what became of telling them."""
