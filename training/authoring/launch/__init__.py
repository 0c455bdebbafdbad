"""From a ready agent to a run: estimate, preflight, smoke try, presets, the line of waiting runs."""
