"""JSON documents: spec, model file, session state, checkpoint.

Nothing in a document is trusted: every range and every index is checked.
"""
