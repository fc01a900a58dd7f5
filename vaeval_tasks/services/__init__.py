"""What is reached or fetched from outside: HTTP services and model weights."""
