"""Names of `askless.client.jobs` that used to be here."""

from askless.client.jobs import TrainingProgress as TrainingProgress
from askless.client.jobs import Watcher as Watcher
