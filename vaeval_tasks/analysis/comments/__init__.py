"""What free-text comments speak of."""
