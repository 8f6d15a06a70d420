"""Shards of a training in other processes: where they run, and what they are sent.

What a shard computes is in `askless.core.training.shards.shards`.
"""
