"""Every read of the imports, one module a thing. The workspace or the person comes first."""
