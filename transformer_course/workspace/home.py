"""The home page of a workspace."""
