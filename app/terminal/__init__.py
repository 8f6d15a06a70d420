"""What the command line shows and asks."""
