"""One door per foreign thing; foreign types and exceptions stay outside."""
