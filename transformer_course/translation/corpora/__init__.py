"""From text on disk, or made by rule, to batches of ids."""
