"""What the comparators share: the bases of estimators and models, common parameters, and steps that several take."""
