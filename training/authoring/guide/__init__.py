"""The wizard: pages as data, drafts that save themselves, the gallery, the list of agents."""
