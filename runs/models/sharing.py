"""Links that show a result to whoever holds them, and results published on a benchmark's page."""
