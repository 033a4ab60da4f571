"""The paper's X1, a file a step: partition, neighbours, svp, admm, vote; learner and classifier join them."""
