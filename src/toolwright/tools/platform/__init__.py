"""Platform functions: the work behind entries of a catalog. An entry brings name, texts and schema."""
