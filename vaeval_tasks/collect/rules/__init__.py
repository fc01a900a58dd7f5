"""What the server decides: who gets which task, what counts as heard, which answers are used."""
