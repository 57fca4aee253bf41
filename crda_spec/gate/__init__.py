"""The test that an augmentation has to pass, refitting everything inside every fold."""
