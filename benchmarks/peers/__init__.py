"""Public engines behind the laboratory's interface, each with its own translation.

Installed from a registry (`pip install 'tamis[peers]'`), never shipped. An `Engine` takes the texts
of expressions and answers events in JSON as `tamis.Index` does; what it cannot express it refuses.
"""
