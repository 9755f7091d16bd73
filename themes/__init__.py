"""The workbench's themes: colour files and their loader, independent of workbench and engine."""
