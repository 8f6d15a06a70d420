"""How ensembles are made: the boosting loop, rules, learners, weights."""
