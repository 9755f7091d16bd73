"""What a harvest held back for a person."""
