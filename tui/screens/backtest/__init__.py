"""The backtest screen: what agents would have been told in the past."""
