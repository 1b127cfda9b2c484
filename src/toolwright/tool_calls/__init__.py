"""What happens to one call. Start reading at ``pipeline.py``."""
