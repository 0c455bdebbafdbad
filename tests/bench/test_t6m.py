"""T6M's prompts have exactly as many ids as asked for, template included, and so have scripted results."""

from pathlib import Path

from bench import scripted, t6m
from gpu_worker.engines.embedded.chat import Chat


def chat(directory: Path) -> Chat:
    t6m.write_tokenizer(directory)
    return Chat(directory)


def test_a_conversation_is_as_long_as_asked(tmp_path: Path) -> None:
    ids = chat(tmp_path).prompt_ids(t6m.conversation(256, "one"), [])
    assert len(ids) == 256
    assert not set(ids) & set(t6m.NEVER_SAID)


def test_every_word_is_one_id(tmp_path: Path) -> None:
    assert chat(tmp_path).encode(" ".join(t6m.words())) == list(range(t6m.VOCABULARY))


def test_a_scripted_try_grows_by_what_the_script_says(tmp_path: Path) -> None:
    read = chat(tmp_path)
    opening = [
        {"role": "system", "content": scripted.SYSTEM},
        {"role": "user", "content": scripted.question(0)},
    ]
    seen = read.prompt_ids(opening, [])
    assert len(seen) == scripted.PROMPT_TOKENS
    said = t6m.text(scripted.TURN_TOKENS, "said")
    seen += read.encode(said)
    turn = [{"role": "assistant", "content": said}, {"role": "tool", "content": scripted.RESULT}]
    assert len(read.prompt_ids([*opening, *turn], [], seen)) == len(seen) + scripted.RESULT_TOKENS


def test_different_seeds_give_different_words() -> None:
    assert t6m.text(20, "a") == t6m.text(20, "a") != t6m.text(20, "b")
