"""Memories: texts that agents keep from one session to the next, in stores; every change to them is kept."""
