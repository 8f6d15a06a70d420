"""Bodies of requests and answers: strict on the way in, with examples everywhere."""
