"""Looking through a run's samples: what narrows the list, what is next to a task, and where two answers differ."""
