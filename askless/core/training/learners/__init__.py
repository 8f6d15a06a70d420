"""The kinds of weak hypotheses: one file per learner, and the table `LEARNERS`."""

from askless.core.training.learner import Learner
from askless.core.training.learners.product import ProductLearner
from askless.core.training.learners.stump import StumpLearner
from askless.core.training.learners.tree import TreeLearner

LEARNERS: dict[str, type[Learner]] = {
    learner.name: learner for learner in (StumpLearner, TreeLearner, ProductLearner)
}
