"""What a person sees of a run: the terminal's summary, the progress of its stages, the graph and one HTML page.

Everything here reads records and nothing else. Import the modules themselves: `terminal` and `progress` need rich,
`page` needs Jinja, and a command that prints only its help should load neither.
"""
