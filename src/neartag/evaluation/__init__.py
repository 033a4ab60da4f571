"""How good an answer is: metrics at k, propensity-scored metrics, intervals."""
