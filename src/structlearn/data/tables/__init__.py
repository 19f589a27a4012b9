"""Tables with a header: CSV and Parquet."""
