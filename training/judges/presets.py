"""Providers people are likely to have, each with what its form begins with."""

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from training.models import Provider


@dataclass(frozen=True)
class Preset:
    """`litellm` is what stands before the slash in litellm's names of its models."""

    slug: str
    title: str | Promise
    kind: str
    """Of Provider.Kind."""
    litellm: str = ""
    api_base: str = ""
    model: str = ""
    """A model of theirs, as an example."""
    keys: str = ""
    """Where a person gets a key."""


_HOSTED, _URL, _OWN = map(str, Provider.Kind.values)

HOSTED = (
    Preset("openai", "OpenAI", _HOSTED, "openai", model="gpt-4.1-mini", keys="platform.openai.com"),
    Preset(
        "anthropic",
        "Anthropic",
        _HOSTED,
        "anthropic",
        model="claude-haiku-4-5",
        keys="console.anthropic.com",
    ),
    Preset(
        "gemini", "Google Gemini", _HOSTED, "gemini", model="gemini-2.5-flash", keys="aistudio.google.com"
    ),
    Preset("mistral", "Mistral", _HOSTED, "mistral", model="mistral-small-latest", keys="console.mistral.ai"),
    Preset("deepseek", "DeepSeek", _HOSTED, "deepseek", model="deepseek-chat", keys="platform.deepseek.com"),
    Preset("xai", "xAI", _HOSTED, "xai", model="grok-3-mini", keys="console.x.ai"),
    Preset("groq", "Groq", _HOSTED, "groq", model="llama-3.3-70b-versatile", keys="console.groq.com"),
    Preset("cerebras", "Cerebras", _HOSTED, "cerebras", model="llama-3.3-70b", keys="cloud.cerebras.ai"),
    Preset(
        "openrouter",
        "OpenRouter",
        _HOSTED,
        "openrouter",
        model="openai/gpt-4.1-mini",
        keys="openrouter.ai/keys",
    ),
    Preset(
        "together",
        "Together AI",
        _HOSTED,
        "together_ai",
        model="Qwen/Qwen2.5-72B-Instruct-Turbo",
        keys="api.together.ai",
    ),
    Preset(
        "fireworks",
        "Fireworks AI",
        _HOSTED,
        "fireworks_ai",
        model="accounts/fireworks/models/qwen3-30b-a3b",
        keys="fireworks.ai",
    ),
)
ADDRESSES = (
    Preset("ollama", "Ollama", _URL, api_base="http://localhost:11434/v1", model="qwen3:8b"),
    Preset("vllm", "vLLM", _URL, api_base="http://localhost:8000/v1", model="Qwen/Qwen3-8B"),
    Preset("lm-studio", "LM Studio", _URL, api_base="http://localhost:1234/v1", model="qwen3-8b"),
    Preset(
        "dashscope",
        _("Alibaba Model Studio"),
        _URL,
        api_base="https://dashscope.aliyuncs.com/compatible-mode/v1",
        model="qwen-plus",
        keys="bailian.console.aliyun.com",
    ),
    Preset(
        "azure",
        "Azure OpenAI",
        _URL,
        api_base="https://YOUR-RESOURCE.openai.azure.com/openai/v1",
        model="gpt-4.1-mini",
        keys="portal.azure.com",
    ),
    Preset("address", _("Another address"), _URL, api_base="https://", model=""),
)
OWN = Preset("own", _("A checkpoint of your own"), _OWN)
ALL = {preset.slug: preset for preset in (*HOSTED, *ADDRESSES, OWN)}


def of(provider: Provider) -> Preset:
    """The preset a provider is like."""
    if provider.kind == Provider.Kind.OWN:
        return OWN
    known = (one for one in HOSTED if one.kind == provider.kind and one.litellm == provider.litellm)
    return next(known, ALL["address"])
