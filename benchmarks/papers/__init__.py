"""The papers' tables and figures again, on our engine."""
