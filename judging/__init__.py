"""Scores for groups of tries: RULER, checks, and the judges behind them. Knows no Django."""
