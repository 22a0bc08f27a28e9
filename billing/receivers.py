"""What billing does when something happened elsewhere."""
