"""Words and charts about models and sessions, the same in pages, terminal and API."""
