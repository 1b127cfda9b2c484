"""Coming by tokens: what a server wants, who gives it, as whom we ask, and a person who agrees."""
