"""How the admin writes dates: the day before the month, and hours up to 24, as everywhere in the product."""
