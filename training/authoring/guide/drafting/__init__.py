"""What ArtWeb writes for a person who said what an agent is for: `templates` offline, `asking` a model."""
