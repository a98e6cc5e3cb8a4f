"""What several readers of frameworks share."""
