"""Signing in by OpenID Connect: groups of the provider become tenant and role."""
