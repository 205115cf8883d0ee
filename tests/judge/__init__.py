"""The language said a second time, in plain Python, so that it can judge the engine."""
