"""Groups of frozen results, and comparisons under a policy."""
