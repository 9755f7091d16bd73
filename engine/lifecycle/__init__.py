"""What becomes of memory over time: taken out, condensed, pruned, archived, made anew (spec 8)."""
