"""From a source to a `Table`: read, check the columns' contracts, and set test rows aside.

Nothing is imported here, so that `crda_spec.data.headers` can be used without pandas.
"""
