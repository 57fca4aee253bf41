"""Searches for structure in the data, for when no graph is known, and expert knowledge that binds them.

Nothing is imported here, so that checking what an expert knows (`discovery.knowledge`) loads no numerical library.
"""
