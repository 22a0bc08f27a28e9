"""Old evaluations as other tools export them, read into rows, recorded answers and old verdicts. Nothing of them is executed.

Every format is a module with a `FORMAT`, `recognises(files)` and `read(files, into, options)`.
"""
