"""The commands of the laboratory: `tamis lab generate`, `compare`, `run`, `draw` and `report`."""
