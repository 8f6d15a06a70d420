"""CDS Hooks 2.0: cards for clinicians, from a session that is prepared for them."""
