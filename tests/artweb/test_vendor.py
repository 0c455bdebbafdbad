"""What is vendored is the unmodified release that vendor.json names, with its licence."""

import importlib.util
from pathlib import Path

VENDOR = Path(__file__).resolve().parent.parent.parent / "static" / "vendor"
spec = importlib.util.spec_from_file_location("vendor_fetch", VENDOR / "fetch.py")
assert spec and spec.loader
fetch = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fetch)


def test_vendored_files_are_the_ones_named() -> None:
    assert fetch.differing_files() == []


def test_every_vendored_file_is_named_and_every_package_has_a_licence() -> None:
    named = {local for package in fetch.packages() for local in package["files"]}
    present = {path.name for path in VENDOR.iterdir() if path.is_file()}
    assert present - named == {"vendor.json", "fetch.py"}
    for package in fetch.packages():
        assert package["licence"] in ("0BSD", "MIT")
        assert any(local.endswith("LICENSE") for local in package["files"])
