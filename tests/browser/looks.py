"""What a page looks like, as its computed styles tell."""

from __future__ import annotations

from typing import Any

# Every visible text whose contrast with what is behind it is below what WCAG asks at level AA.
_FAINT = """() => {
  const parsed = (text) => {
    const [red, green, blue, alpha = 1] = text.match(/[\\d.]+/g).map(Number);
    return [red, green, blue, alpha];
  };
  const over = (front, back) => [0, 1, 2].map((at) => front[at] * front[3] + back[at] * (1 - front[3])).concat(1);
  const behind = (element) => {
    if (!element) return [...(matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255]), 1];
    const own = parsed(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, behind(element.parentElement));
  };
  const light = (colour) => {
    const parts = colour.slice(0, 3).map((part) => part / 255);
    const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const faint = [];
  let seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility({ visibilityProperty: true })) continue;
    if (element.closest("script, style, .unseen, option")) continue;
    seen += 1;
    const style = getComputedStyle(element);
    const back = behind(element);
    const [one, other] = [light(over(parsed(style.color), back)), light(back)].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    if (ratio < 4.5) faint.push(`${ratio.toFixed(2)} ${walker.currentNode.data.trim().slice(0, 40)}`);
  }
  return { seen, faint };
}"""

# How the focus shows on the element that has it: its outline, or, of a point of the map, its stroke.
_FOCUS = """() => {
  const element = document.activeElement;
  const style = getComputedStyle(element);
  return {
    name: element.id || element.getAttribute("aria-label") || element.textContent.trim(),
    tag: element.tagName.toLowerCase(),
    outline: style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth),
    stroke: element instanceof SVGElement ? parseFloat(style.strokeWidth) : 0,
  };
}"""

_WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
_BACKGROUND = "() => getComputedStyle(document.body).backgroundColor"


def faint_texts(page: Any) -> list[str]:
    """Return the texts whose contrast is below 4.5."""
    found = page.evaluate(_FAINT)
    assert found["seen"] > 5
    return found["faint"]


def focus(page: Any) -> dict[str, Any]:
    """Return what has the focus, and how wide its outline and its stroke are."""
    return page.evaluate(_FOCUS)


def wait_for_focus(page: Any, beginning: str) -> None:
    """Wait until something whose name begins so has the focus: what moves it may come after what else is seen."""
    page.wait_for_function(f"beginning => ({_FOCUS})().name.startsWith(beginning)", arg=beginning)


def wider(page: Any) -> int:
    """Return by how many pixels the page is wider than the window."""
    return page.evaluate(_WIDER)


def background(page: Any) -> str:
    """Return the page's colour."""
    return page.evaluate(_BACKGROUND)


def unnamed(page: Any) -> list[str]:
    """Return the lines of the accessibility tree that are controls without a name."""
    roles = ("button", "textbox", "combobox", "listbox", "option", "img", "group", "dialog", "region", "link")
    lines = [line.strip().removeprefix("- ") for line in page.locator("body").aria_snapshot().splitlines()]
    controls = [line for line in lines if line.partition(" ")[0].rstrip(":") in roles]
    assert controls
    return [line for line in controls if '"' not in line and "/" not in line.split()[1:2]]
