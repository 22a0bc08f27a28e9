"""The comparison of a run's models as plain tables, the tasks on which they disagree, and how a run differs from an earlier one.

`comparing` computes and freezes; what is here reads what was frozen and lays it out once, for the page, the API and files alike.
"""
