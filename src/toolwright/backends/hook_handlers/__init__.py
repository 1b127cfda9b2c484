"""Ways to hook handlers outside this process."""
