"""The commands: one file each, those on a spec alone in `spec.py`."""
