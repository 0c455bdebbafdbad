"""A draft without a language model: sentences to fill in, and tools found by the words of the description.

Texts are for models and judges to read, so they are in the language of the questions, not of the page.
"""

from collections.abc import Sequence

from training.authoring.guide.drafting.everyday_tools import tools_for
from training.authoring.guide.drafting.proposal import Proposal
from training.authoring.studio import prompt
from training.models import LIVING, Agent

RUBRIC = {
    "en": """\
The task: {task}
- What counts most is that the question is answered, rightly and completely.
- The answer must rest on what the tools returned in that same try; a guess counts as wrong.
- If there is nothing to be found, saying so plainly is the right answer.
- Among right answers, fewer steps and fewer failed calls are a little better.
- Polite and brief beats long-winded; tone never makes up for a wrong answer.""",
    "zh": """\
任务：{task}
- 最重要的是：问题得到正确而完整的回答。
- 回答必须依据本次尝试中工具返回的内容；猜测算作错误。
- 如果确实查不到，直接说明没有找到就是正确答案。
- 同样正确时，步骤更少、失败的调用更少的略好一些。
- 礼貌而简短优于冗长；语气不能弥补错误的答案。""",
}
THEMES = {
    "en": (
        "the everyday question, asked plainly",
        "the same in a hurry, with words left out",
        "something that does not exist",
        "two things at once",
        "a detail that is missing and must be asked for or looked up",
        "an upset person who wants it solved now",
    ),
    "zh": (
        "最常见的问题，直接提问",
        "匆忙中提出、省略了词语的问题",
        "询问不存在的东西",
        "一次问两件事",
        "缺少细节，需要查询或追问",
        "情绪激动、要求马上解决的人",
    ),
}
ABOUT_A_TABLE = {
    "en": "Answer questions about “{name}”. The answers stand in a table with the columns {columns}.",
    "zh": "回答有关“{name}”的问题。答案在一张表里，列有：{columns}。",
}
MOST_COLUMNS = 10


def propose(agent: Agent) -> Proposal:
    """Prompt, rubric, tools and themes from the agent's description."""
    language = agent.language if agent.language in RUBRIC else "en"
    task = " ".join(agent.description.split())
    tools = () if agent.tools.filter(LIVING).exists() else tools_for(task, language)
    said_first = prompt.proposal(agent)
    if tools:
        said_first = f"{said_first}\n{prompt.RULES[language]}"
    return Proposal(
        texts={"system_prompt": said_first, "rubric": RUBRIC[language].format(task=task)},
        tools=tools,
        themes=THEMES[language],
    )


def about_table(name: str, columns: Sequence[str], language: str) -> str:
    """What an agent that was made from a table is for."""
    shown = ", ".join(columns[:MOST_COLUMNS]) + (" …" if len(columns) > MOST_COLUMNS else "")
    return ABOUT_A_TABLE.get(language, ABOUT_A_TABLE["en"]).format(name=name, columns=shown)
