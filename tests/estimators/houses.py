"""What the tests know of the small table of houses."""

ROWS = 60
GRAPH = "{area age quarter new} -> price"
