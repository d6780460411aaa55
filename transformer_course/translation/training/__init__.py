"""From random weights to a translator."""
