"""A workspace as a whole: made, examined and kept clean."""
