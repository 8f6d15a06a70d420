"""Online boosting: rows are learnt one by one, in a state of fixed size."""
