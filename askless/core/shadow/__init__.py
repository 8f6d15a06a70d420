"""Shadow: replay logged cases by a policy of ours, beside the one that decided them."""
