"""FHIR R4B: sessions as adaptive questionnaires of Structured Data Capture (SDC)."""
