"""Getting started: a recorded comparison to look at, and the way to a first own run."""
