"""The terminal package prints results of commands and asks questions."""
