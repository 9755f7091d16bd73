"""The jobs screen: scheduled jobs."""
