"""Measurements that take minutes: run by hand on a quiet machine, never as tests."""
