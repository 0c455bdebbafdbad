"""The tables. Writes belong in services and the recorder, reads in queries."""

from training.models.agents import LIVING, Agent, AgentVersion, Scenario
from training.models.errands import Errand, Preset
from training.models.events import Event
from training.models.judges import JudgeTrial, Provider, Ranking, RubricVersion
from training.models.review import (
    BlindVote,
    Comparison,
    ComparisonTry,
    Measurement,
    Note,
    Replay,
    SavedView,
    TrajectoryTag,
)
from training.models.runs import Checkpoint, Evaluation, Run, RunScenarios, StepMetrics
from training.models.serving import ApiKey, Deployment, SignInLink
from training.models.tools import Secret, TableFile, Tool, ToolCall
from training.models.trajectories import Group, Score, Trajectory, TrajectoryRecord, TrajectoryTool

__all__ = [
    "LIVING",
    "Agent",
    "AgentVersion",
    "ApiKey",
    "BlindVote",
    "Checkpoint",
    "Comparison",
    "ComparisonTry",
    "Deployment",
    "Errand",
    "Evaluation",
    "Event",
    "Group",
    "JudgeTrial",
    "Measurement",
    "Note",
    "Preset",
    "Provider",
    "Ranking",
    "Replay",
    "RubricVersion",
    "Run",
    "RunScenarios",
    "SavedView",
    "Scenario",
    "Score",
    "Secret",
    "SignInLink",
    "StepMetrics",
    "TableFile",
    "Tool",
    "ToolCall",
    "Trajectory",
    "TrajectoryRecord",
    "TrajectoryTag",
    "TrajectoryTool",
]
