"""SMART on FHIR: a record system launches us with a patient and their results."""
