"""Where web searches go: Brave, Tavily, an own SearXNG, or a script."""
