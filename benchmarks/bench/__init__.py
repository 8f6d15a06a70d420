"""What `make bench` measures: times and memory beside peers, test errors."""
