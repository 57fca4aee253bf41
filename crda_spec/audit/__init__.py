"""What a run leaves behind: the record, the files, the model."""
