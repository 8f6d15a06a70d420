"""Forward selection of features: SFS, FS2Boost and iFS2Boost (Sebban, Nock 1999).

The derivations are in docs/mathematics.md, what was measured in docs/evidence.md.
"""
