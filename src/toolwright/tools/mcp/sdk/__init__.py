"""Connections to servers, over the library that speaks the protocol. Nothing else imports that library."""
