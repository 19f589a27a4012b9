"""How estimators are trained: problems laid out, parameters checked, one fit after the other."""
