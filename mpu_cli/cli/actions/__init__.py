"""The work of the commands, a module each."""
