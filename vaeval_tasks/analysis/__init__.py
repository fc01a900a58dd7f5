"""From ratings to the tables of the study: joins the tables of a run, or a plain file, with the statistics."""
