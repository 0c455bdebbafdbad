"""Live pages under load: many browsers' sockets, a site that trains, and a plain Channels site beside it."""
