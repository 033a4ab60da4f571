// What a tab remembers until it is closed; where the browser keeps nothing, until the page is left.

const PREFIX = "neartag-";
const here = new Map();

export function recall(key) {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + key)) ?? here.get(key) ?? null;
  } catch {
    return here.get(key) ?? null;
  }
}

export function remember(key, value) {
  here.delete(key);
  try {
    if (value === null) sessionStorage.removeItem(PREFIX + key);
    else sessionStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    here.set(key, value); // full, or not allowed
  }
}
