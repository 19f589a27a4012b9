"""Label sequences: Viterbi, marginals, k best, samples."""
