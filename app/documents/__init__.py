"""The JSON shapes, each once: spec, model file, session state, checkpoint.

What comes in is trusted with nothing: ranges stand at the fields, every index is
checked.
"""
