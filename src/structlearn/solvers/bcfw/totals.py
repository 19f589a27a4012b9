"""Places of the scalars that passes over blocks keep in one array, changed in place."""

#: the cost of z; steps taken; what the cost of the average lags behind; the gap that a cached pass has seen
COST, STEPS, LAG_COST, CACHED_GAP = range(4)
