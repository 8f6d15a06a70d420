"""Jobs: the queue, its attempts, and what each kind of job is asked and gives."""
