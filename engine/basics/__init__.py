"""What every open workspace is made of first: the parts on which a message and its prompt rest."""
