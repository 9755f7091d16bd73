"""What leaves the working set, and how it comes back: caps, decay, the archive (spec 8.5, 8.6)."""
