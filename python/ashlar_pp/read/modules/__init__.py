"""Models as PyTorch runs them: a walk over a module, and its layers."""
