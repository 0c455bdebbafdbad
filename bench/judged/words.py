"""English to fill messages with: sentences of a business's correspondence, seldom the same twice."""

from __future__ import annotations

import random

PEOPLE = (
    "Greg Whalley", "Maria Pavlou", "Kay Mann", "Steven Kean", "Lynn Blair", "Darron Giron", "Sally Beck",
    "Tana Jones", "Chris Dorland", "Rosalee Fleming", "Vince Kaminski", "Susan Scott", "Mike Grigsby",
    "Debra Perlingiere", "Benjamin Rogers", "Kim Ward", "Drew Fossum", "Shelley Corman", "Phillip Love",
)  # fmt: skip
_WHO = ("The trading desk", "Our counsel", "The pipeline group", "Their accountant", "The Portland office",
        "A bidder from Calgary", "The audit team", "Somebody in scheduling", "My assistant",
        "The new analyst")  # fmt: skip
_DID = ("has confirmed", "is still reviewing", "asked me to forward", "wants to postpone", "signed off on",
        "raised a question about", "cannot find", "would like to discuss", "already paid for",
        "rewrote")  # fmt: skip
_WHAT = ("the gas nominations", "a draft of the master agreement", "the invoice for transport capacity",
         "the storage forecast", "last month's reconciliation", "the hotel booking in Houston",
         "the credit limits", "a list of open positions", "the meter data",
         "the presentation slides")  # fmt: skip
_WHEN = ("before the call on Thursday", "by the end of the quarter", "after the board meeting",
         "as soon as the numbers are final", "unless legal objects", "for delivery in March",
         "on the condition we discussed", "together with the signed copy", "at the latest tomorrow noon",
         "without waiting for the regulator")  # fmt: skip
TOPICS = ("capacity release", "credit limits", "Houston hotel", "meter data", "master agreement",
          "storage forecast", "board meeting", "gas nominations", "open positions", "invoice")  # fmt: skip


def sentence(source: random.Random) -> str:
    amount = f", about {source.randrange(3, 900)} {source.choice(('contracts', 'MMBtu', 'dollars', 'pages'))}"
    extra = amount if source.random() < 0.4 else ""
    who, did = source.choice(_WHO), source.choice(_DID)
    return f"{who} {did} {source.choice(_WHAT)}{extra} {source.choice(_WHEN)}."


def paragraph(source: random.Random, sentences: int) -> str:
    return " ".join(sentence(source) for _ in range(sentences))
