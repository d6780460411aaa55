"""Lesson 6: what holds for every right Transformer, and twelve broken ones that it catches."""
