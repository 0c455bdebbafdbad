"""What /v1 says when it refuses: OpenAI's error format with the right HTTP status, always in English."""

from __future__ import annotations

from django.http import JsonResponse


class ApiError(Exception):
    """A refusal. `message` names the field and what it may hold; `param` and `code` are for programs."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        param: str | None = None,
        code: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.param = param
        self.code = code
        self.retry_after = retry_after

    @property
    def body(self) -> dict[str, dict[str, str | None]]:
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}}

    @property
    def response(self) -> JsonResponse:
        response = JsonResponse(self.body, status=self.status)
        if self.retry_after is not None:
            response["Retry-After"] = str(self.retry_after)
        if self.status == 401:
            response["WWW-Authenticate"] = 'Bearer realm="ArtWeb"'
        return response


def invalid(param: str | None, message: str, code: str = "invalid_value") -> ApiError:
    return ApiError(400, message, param=param, code=code)


def wrong_key() -> ApiError:
    """The same words for a missing, mistyped, unknown and revoked key."""
    message = (
        "No valid API key. Send one as 'Authorization: Bearer art_…'; keys are made on the Endpoint page."
    )
    return ApiError(401, message, kind="authentication_error", code="invalid_api_key")


def unknown_model(name: str) -> ApiError:
    """The same words for a model that is not there and for one that belongs to somebody else."""
    message = f"The model {name[:200]!r} does not exist, or this key has no access to it."
    return ApiError(404, message, param="model", code="model_not_found")


def too_large(limit: int) -> ApiError:
    message = f"The request body is larger than {limit} bytes."
    return ApiError(413, message, code="request_too_large")


def too_many(limit: int) -> ApiError:
    message = f"This key already has {limit} requests under way. Wait for one to end."
    return ApiError(429, message, kind="rate_limit_error", code="rate_limit_exceeded", retry_after=1)


def server_away() -> ApiError:
    message = "The model server is not running just now. Try again in a few seconds."
    return ApiError(503, message, kind="server_error", code="model_server_unavailable", retry_after=5)


def server_failed() -> ApiError:
    message = "The model server failed while answering; its log says why."
    return ApiError(500, message, kind="server_error", code="model_server_error")
