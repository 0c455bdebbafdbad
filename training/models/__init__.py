"""The tables. Writes belong in services and the recorder, reads in queries."""

from training.models.agents import Agent, Scenario
from training.models.events import Event
from training.models.runs import Checkpoint, Evaluation, Run, RunScenarios, StepMetrics
from training.models.serving import ApiKey, Deployment, SignInLink
from training.models.trajectories import Group, Score, Trajectory, TrajectoryRecord

__all__ = [
    "Agent",
    "ApiKey",
    "Checkpoint",
    "Deployment",
    "Evaluation",
    "Event",
    "Group",
    "Run",
    "RunScenarios",
    "Scenario",
    "Score",
    "SignInLink",
    "StepMetrics",
    "Trajectory",
    "TrajectoryRecord",
]
