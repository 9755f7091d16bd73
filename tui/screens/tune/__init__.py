"""The tune screen: topics, their thresholds and the effect of moving them."""
