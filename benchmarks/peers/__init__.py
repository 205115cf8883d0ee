"""Adapters from public engines to the laboratory's interface, each with a translation.

The engines are installed from a registry (`pip install 'tamis[peers]'`), never shipped. An
`Engine` has the methods of `tamis.Index`, `tamis.xml.Filter` or `tamis.Graph`, and refuses
expressions that it cannot represent. The files in `benchmarks/experiments/peers` compare them with
Tamis: `make peers`.
"""
