"""Shadow: logs of decisions, read from files and compared with a policy of ours."""
