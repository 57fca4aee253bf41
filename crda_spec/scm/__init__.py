"""The typed causal layer: graphs, separation, certificates, screens and discovery. Pure mathematics, no files.

Nothing is imported here, so that checking a graph (`scm.graph`, `scm.formats`) never loads a numerical library.
"""
