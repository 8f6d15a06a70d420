"""How often certificates hold: rows set aside drawn again and again."""
