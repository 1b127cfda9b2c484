"""Evals: cases put to agents, scored, compared with how it was before, and reported."""
