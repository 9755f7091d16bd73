"""The stability of the stable prefix: a log of used prefixes, and what broke them."""
