"""Abduction, action, prediction: the paper's three steps, and the partition they stand on."""
