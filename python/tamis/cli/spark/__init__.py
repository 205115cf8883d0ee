"""`tamis spark`: the pipeline from a shell, one module per command.

Needs the extra `tamis[spark]`, of which nothing is imported before a command runs.
"""
