"""One request to a model after another, and the calls between them, until it has nothing more to do."""
