"""Clients generated from the OpenAPI document, and what each of them plays."""
