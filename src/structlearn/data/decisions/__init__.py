"""Decision problems: generators of the literature, and files of problems."""
