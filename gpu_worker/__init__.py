"""The engine room: rollouts, GRPO, engines and trainers. Knows no Django, no Celery and no database."""
