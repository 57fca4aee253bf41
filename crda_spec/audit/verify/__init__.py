"""Is a run's folder what a run wrote, and do its numbers follow from each other?"""
