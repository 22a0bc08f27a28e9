"""Exports: a frozen result as a file that another person can check, made once and never changed.

`formats` says which there are, `storing` makes and keeps them, `serving` answers with them; each other module writes one of them as a
stream. What a file may hold is the export policy of each benchmark version, and of what models said the retention of the run decides.
"""
