"""What commands share: options, help, errors, output files."""
