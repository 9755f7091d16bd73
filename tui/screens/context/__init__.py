"""The context screen: the prompt of a message, section by section."""
