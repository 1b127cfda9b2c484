"""Handlers that people hang on the steps of a call: configured, chosen, run, understood, merged."""
