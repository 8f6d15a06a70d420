"""Names of `askless.jobs` that used to be here."""

from askless.jobs import TrainingProgress as TrainingProgress
from askless.jobs import Watcher as Watcher
