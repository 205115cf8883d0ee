"""A second implementation of the language, in plain Python, to compare the engine with."""
