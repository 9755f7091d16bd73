"""Knowledge that others share, and what is kept from them."""
