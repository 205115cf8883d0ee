"""The commands of the laboratory: `tamis lab generate` and `tamis lab compare`."""
