"""The estimator, which can also be saved as a MODEL.json."""

from dataclasses import replace
from pathlib import Path

from sklearn.utils.validation import check_is_fitted

from askless.app.documents import files
from askless.core.estimator import classifier
from askless.core.estimator.one_hot import one_hot_groups as one_hot_groups


class BudgetedBoostingClassifier(classifier.BudgetedBoostingClassifier):  # noqa: D101  # below
    __doc__ = classifier.BudgetedBoostingClassifier.__doc__

    def save(self, path: str | Path, name: str | None = None) -> None:
        """Write MODEL.json, as `askless train` does, for the command and the service.

        `name` is the model's, by default "model". Raises RefusedError where the file
        can't be written, and for a multilabel model, which the service can't serve.
        """
        check_is_fitted(self)
        model = self.model_
        if name is not None:
            model = replace(model, name=name)
        files.check_writable(Path(path), "path")
        files.replace_file(Path(path), files.model_text(model))
