"""The engine: leases on shards, calls under a limiter, group commits under a fence.

`executor` is the loop of one worker child; `lane` is one subject inside it; `granting`, `store`, `ending` and `sweeping` are the
transactions.
The database is the truth throughout: a process that dies loses only what finished during one write.
"""
