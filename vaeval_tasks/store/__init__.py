"""What a run keeps: records, tables, logs, the run folder, and the files that people give us."""
