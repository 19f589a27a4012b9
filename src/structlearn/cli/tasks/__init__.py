"""The tasks of the shell: what each reads, trains, writes and reports."""
