"""Layers around all routes: edge, gate, errors, metrics."""
