"""Memory shared with others, kept from others, and shown in part."""
