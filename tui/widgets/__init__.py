"""The panels and lines of the workbench. They hold what they show and draw it; they decide nothing."""
