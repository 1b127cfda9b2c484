"""Rules → allow, ask, deny. Pure: asking a person is done by the pipeline."""
