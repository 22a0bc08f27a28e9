"""Groups of frozen results: which are alike, how they compare, and whether they pass the checks that a release asks for."""
