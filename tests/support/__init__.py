"""What the tests of several subjects share."""
