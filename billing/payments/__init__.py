"""Buying credit with Stripe: purchases, what Stripe reports of them, refunds, disputes and automatic top-ups."""
