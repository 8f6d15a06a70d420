"""How often the monitor says that a refresh is due where it is not, and where it is."""
