// Whether a key press belongs to a field or to the page.

/** Keys are for the page only when nothing is being typed. */
export function isTyping(event) {
  return event.isComposing || event.ctrlKey || event.metaKey || event.altKey
    || event.target.closest?.("input, textarea, select, [contenteditable]") != null;
}
