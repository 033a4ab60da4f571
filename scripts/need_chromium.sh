#!/bin/sh
# Makes sure that there is a Chromium for `make browser-test`: installs Debian's where we may, says what to do elsewhere.
if command -v chromium >/dev/null || command -v chromium-browser >/dev/null; then
  exit 0
fi
if [ "$(id -u)" = 0 ]; then
  as=
elif command -v sudo >/dev/null; then
  as=sudo
else
  as=none
fi
if [ "$as" = none ] || ! command -v apt-get >/dev/null; then
  echo "Chromium is missing and cannot be installed from here: install it, so that 'chromium' is on the PATH" >&2
  exit 1
fi
$as apt-get update --quiet && $as apt-get install --yes --no-install-recommends --quiet chromium
