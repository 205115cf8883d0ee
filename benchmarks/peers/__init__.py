"""Public engines behind the laboratory's interface, each with its own translation.

Installed from a registry (`pip install 'tamis[peers]'`), never shipped. An `Engine` has the calls
of `tamis.Index`, `tamis.xml.Filter` or `tamis.Graph`; what it cannot express it refuses. The files
under `benchmarks/experiments/peers` measure them beside Tamis: `make peers`.
"""
