"""What calls of models have cost, what they may cost, and what they would."""
