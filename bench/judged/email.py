"""E-mail search as in ART·E: search an inbox by keywords, read messages, answer with references.

A search returns up to ten message ids with snippets, a reading the whole message. 3 to 6 turns a try.
"""

from __future__ import annotations

import random
from typing import Any

from bench.judged import Case, Message, called, choice, tool
from bench.judged.words import PEOPLE, TOPICS, paragraph, sentence

STRINGS = {"type": "array", "items": {"type": "string"}}
TOOLS = (
    tool(
        "search_inbox",
        "Search the inbox for e-mails that contain all of the keywords. Returns message ids with snippets.",
        ("keywords",),
        keywords={**STRINGS, "description": "words that must all be in the message"},
        sent_after="only messages sent on or after this date, YYYY-MM-DD",
        sent_before="only messages sent before this date, YYYY-MM-DD",
    ),
    tool("read_email", "Read one e-mail in full.", ("message_id",), message_id="id as a search returned it"),
    tool(
        "return_final_answer",
        "Give the final answer to the user's question together with the messages it rests on.",
        ("answer", "reference_message_ids"),
        answer="the answer, or that it could not be found",
        reference_message_ids=STRINGS,
    ),
)
SYSTEM = """\
You are an e-mail search agent. You are given the user's question and tools to search the user's inbox with.
Use the tools to find the answer. You may take up to 6 turns, so if your first search does not find it, try
others with different keywords. Answer with return_final_answer; if you could not find the answer, say so.
The user's inbox is {inbox} and today's date is {date}."""


def case(distinct: int, size: int, source: random.Random) -> Case:
    person = source.choice(PEOPLE)
    inbox = person.lower().replace(" ", ".") + "@enron.com"
    mails = [_mail(inbox, source) for _ in range(60)]
    searches = [_search(mails, source) for _ in range(distinct)]
    start: list[Message] = [
        {
            "role": "system",
            "content": SYSTEM.format(inbox=inbox, date=f"2001-{source.randrange(1, 13):02}-15"),
        },
        {"role": "user", "content": f"When does {sentence(source)[:-1].lower()}, and who decides it?"},
    ]
    return Case(tuple(tuple(start + _try(searches, mails, source)) for _ in range(size)), TOOLS)


def _try(
    searches: list[tuple[dict[str, Any], list[dict[str, str]]]],
    mails: list[dict[str, Any]],
    source: random.Random,
) -> list[Message]:
    by_id = {mail["message_id"]: mail for mail in mails}
    said: list[Message] = []
    read = ""
    for _ in range(source.randint(1, 3)):
        arguments, hits = searches[choice(len(searches), source)]
        said += called("search_inbox", arguments, hits, source, _thought(source))
        if source.random() < 0.8:
            read = hits[choice(min(len(hits), len(searches)), source)]["message_id"]
            said += called("read_email", {"message_id": read}, by_id[read], source, _thought(source))
    answer = {"answer": sentence(source), "reference_message_ids": [read] if read else []}
    return said + called("return_final_answer", answer, "Answer received.", source)


def _thought(source: random.Random) -> str:
    if source.random() < 0.5:
        return ""
    begin = source.choice(("I should look at", "Let me check", "Next I will search for"))
    return f"{begin} {sentence(source)[4:]}"


def _mail(inbox: str, source: random.Random) -> dict[str, Any]:
    sender = source.choice(PEOPLE).lower().replace(" ", ".") + "@enron.com"
    return {
        "message_id": f"<{source.randrange(10**7)}.{source.randrange(10**12)}.JavaMail.evans@thyme>",
        "date": f"2001-{source.randrange(1, 13):02}-{source.randrange(1, 29):02} 09:07:00",
        "subject": f"RE: {source.choice(TOPICS)}",
        "from_address": sender,
        "to_addresses": [inbox],
        "cc_addresses": [],
        "bcc_addresses": [],
        "body": "\n\n".join(paragraph(source, source.randint(2, 5)) for _ in range(source.randint(1, 4))),
        "file_name": f"mail/{source.randrange(9999)}.",
    }


def _search(
    mails: list[dict[str, Any]], source: random.Random
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    hits = source.sample(mails, source.randint(4, 10))
    word = source.choice(source.choice(TOPICS).split())
    found = [
        {
            "message_id": hit["message_id"],
            "snippet": f"...{hit['body'][:60]} <b>{word}</b> {hit['body'][60:120]}...",
        }
        for hit in hits
    ]
    arguments: dict[str, Any] = {"keywords": [word, source.choice(PEOPLE).split()[1]]}
    if source.random() < 0.3:
        arguments["sent_after"] = f"2001-{source.randrange(1, 13):02}-01"
    return arguments, found
