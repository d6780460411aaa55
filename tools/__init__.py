"""Tools for the authors of the course; learners need none of them."""
