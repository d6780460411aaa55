"""How good translations are, and where they fail."""
