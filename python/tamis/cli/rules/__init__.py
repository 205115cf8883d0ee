"""The commands that read rules of other languages."""
