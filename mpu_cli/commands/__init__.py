"""What subcommands do: files and options in, a report out. Nothing is printed here."""
