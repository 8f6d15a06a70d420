"""Forward selection of features: SFS, FS2Boost and iFS2Boost (Sebban, Nock 1999).

The derivations, and what was measured, are in docs/selection.md.
"""
