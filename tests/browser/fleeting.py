"""What a page says for a second only: noted in the page itself, however late the test looks."""

from playwright.sync_api import JSHandle, Locator


def remembered(place: Locator, selector: str) -> JSHandle:
    """A list in the page of all that `selector` says within `place` from now on; ":scope" is that."""
    return place.evaluate_handle(
        """(place, selector) => {
             const says = [];
             const part = () => (selector === ":scope" ? place : place.querySelector(selector));
             const note = () => says.push(part()?.textContent.trim() ?? "");
             new MutationObserver(note).observe(place, {
               attributes: true, characterData: true, childList: true, subtree: true,
             });
             return says;
           }""",
        selector,
    )
