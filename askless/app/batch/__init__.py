"""Whole tables predicted and measured: what the command line and the jobs share."""
