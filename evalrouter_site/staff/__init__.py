"""What the admin shows before and beside its lists: what waits, and the way to everything."""
