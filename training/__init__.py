"""What people make and see: agents, runs, trajectories, and the pages that show them."""
