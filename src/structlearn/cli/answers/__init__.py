"""Answers on tables, judged: figures, confusions, and pages that show them."""
