"""The scenario studio: the grid, AutoRL, files, solve rates, the prompt as the model reads it."""
