"""Reads a model's answer and applies it to bytes; pure, strict, never by guess."""
