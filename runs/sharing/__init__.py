"""Links that show a result to whoever holds them, and results that owners publish on a benchmark's page."""
