"""Suites of cells (table, size, seed, regressor, augmenter, protocol), how they are run, and what they show."""
