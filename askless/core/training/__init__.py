"""Training makes ensembles: the boosting loop, rules, learners, weights."""
