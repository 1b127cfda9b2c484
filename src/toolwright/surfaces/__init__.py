"""The doors: translate, decide nothing."""
