"""Records of FHIR: fetching, observations, patients."""
