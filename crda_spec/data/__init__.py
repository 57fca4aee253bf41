"""From a source to a `Table`: read, check the columns' contracts, and set test rows aside."""
