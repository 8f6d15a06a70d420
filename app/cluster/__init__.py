"""Shards of a training in other processes: where they run, and what goes over the wire.

What a shard does and what is decided is core's.
"""
