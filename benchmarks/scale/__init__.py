"""How training grows with its table: time and memory, up to ten million rows."""
