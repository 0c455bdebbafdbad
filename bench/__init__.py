"""Speed and exactness, measured side by side with the named peers. Standard library only at this level."""
