"""The first comparison that a new installation makes of itself: `manage.py demo`."""
