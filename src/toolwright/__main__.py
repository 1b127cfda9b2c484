"""``python -m toolwright``: the same as the ``toolwright`` command."""

from toolwright.surfaces.cli.main import main

if __name__ == "__main__":
    main()
