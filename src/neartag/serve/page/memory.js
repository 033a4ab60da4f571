// What a tab remembers until it is closed; where the browser keeps nothing, nothing is remembered.

const PREFIX = "neartag-";

export function recall(key) {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + key));
  } catch {
    return null;
  }
}

export function remember(key, value) {
  try {
    if (value === null) sessionStorage.removeItem(PREFIX + key);
    else sessionStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // full, or not allowed
  }
}
