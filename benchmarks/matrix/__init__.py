"""The matrix: every module at every level on every file, measured, kept and shown."""
