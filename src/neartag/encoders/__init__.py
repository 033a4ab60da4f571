"""Encoders turn documents into feature rows: from their texts, or from vectors that the user brings."""
