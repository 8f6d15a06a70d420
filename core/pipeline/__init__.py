"""From a dataset and a spec to a model: folds, the whole, honest figures."""
