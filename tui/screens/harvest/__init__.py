"""The guided harvest screen."""
