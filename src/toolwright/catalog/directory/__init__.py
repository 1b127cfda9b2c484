"""A catalog in a directory: tools, agents, rules, servers and skills, each in a file of its own."""
