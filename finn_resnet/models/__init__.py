"""Trained models that come with the package, their cards and example images."""
