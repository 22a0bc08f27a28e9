"""What the API takes and answers about imports, one module a thing."""
