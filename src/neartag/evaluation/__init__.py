"""How good an answer is: metrics at k, propensity-scored metrics, bands of rare labels, bootstrap intervals."""
