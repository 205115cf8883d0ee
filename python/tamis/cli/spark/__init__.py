"""`tamis spark`: the pipeline from a shell, one module per command.

Needs the extra `tamis[spark]`; nothing of it is imported before a command runs.
"""
