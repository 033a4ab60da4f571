"""Beyond the paper: linear rankers decide among the labels that votes and label centroids bring up."""
