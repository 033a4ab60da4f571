"""Encoders turn texts, or vectors of the user's own, into feature rows."""
