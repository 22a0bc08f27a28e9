"""Where files come from. Each source resolves a name to something frozen, selects files of it, checks that they may be taken, fetches and
verifies them, stores them for the workspace alone, and leaves a receipt.
"""
