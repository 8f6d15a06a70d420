"""Pages of cases: start, questions, results."""
