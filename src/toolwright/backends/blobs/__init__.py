"""Places that keep large results and files whole."""
