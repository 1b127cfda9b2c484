"""Stores of files."""
