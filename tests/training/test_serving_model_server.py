"""What the model server says, as clients of /v1 hear it."""

import json

import pytest

from training.serving import model_server
from training.serving.errors import ApiError


def heard(status: int, said: object) -> ApiError:
    with pytest.raises(ApiError) as caught:
        model_server._check(status, said if isinstance(said, bytes) else json.dumps(said).encode())
    return caught.value


def refusal(code: str, message: str) -> dict[str, dict[str, str]]:
    return {"error": {"message": message, "type": "model_server_error", "code": code}}


def test_what_is_about_the_request_is_passed_on() -> None:
    told = heard(400, refusal("context_length_exceeded", "The messages have 5000 tokens."))
    assert (told.status, told.code, told.message) == (
        400,
        "context_length_exceeded",
        "The messages have 5000 tokens.",
    )
    assert heard(503, refusal("models_busy", "Busy.")).retry_after


def test_files_of_this_machine_are_named_in_the_log_only(caplog: pytest.LogCaptureFixture) -> None:
    told = heard(404, refusal("model_unusable", "There is no model directory /home/ann/models/x."))
    assert told.status == 404 and "/home" not in told.message
    assert "/home/ann/models/x" in caplog.text


@pytest.mark.parametrize("body", [b"500 Internal Server Error", b"[]", b'{"error": 1}', b'{"error": {}}'])
def test_an_answer_that_is_none_is_a_failure_without_details(body: bytes) -> None:
    assert heard(500, body).message == "The model server failed while answering; its log says why."
