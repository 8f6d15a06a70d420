"""The words and pictures in which people are told about models and sessions."""
