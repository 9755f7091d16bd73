"""The workbench's colours: theme files and what reads them. Knows neither the workbench nor the engine."""
