"""The kinds of weak hypotheses: one file per learner, and the table `LEARNERS`."""

from core.training.learner import Learner
from core.training.learners.product import ProductLearner
from core.training.learners.stump import StumpLearner
from core.training.learners.tree import TreeLearner

LEARNERS: dict[str, type[Learner]] = {
    one.name: one for one in (StumpLearner, TreeLearner, ProductLearner)
}
