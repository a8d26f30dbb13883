"""Thesauri: concepts with a URI, names in languages and broader concepts."""
