"""Settings pages, one module a page."""
