"""Callers, frame, templates, forms and errors, which every page needs."""
