#!/bin/sh
# PAPERLESS_POST_CONSUME_SCRIPT: tags each document as soon as it is in the archive.
#
# NEARTAG_SOCKET is where `paperless_tags.py listen` waits: the quickest, and this script needs no token. Otherwise
# NEARTAG_MODEL is a model's folder or the address of a running `neartag serve`, and Python starts for each document; it only
# shows the tags unless NEARTAG_WRITE is set.
if [ -n "${NEARTAG_SOCKET:-}" ]; then
  exec curl --silent --show-error --fail-with-body --max-time 60 --unix-socket "$NEARTAG_SOCKET" \
    --data-raw "$DOCUMENT_ID" http://neartag/
fi
exec "${PYTHON:-python3}" "$(dirname "$0")/paperless_tags.py" tag "$NEARTAG_MODEL" "$DOCUMENT_ID" ${NEARTAG_WRITE:+--write}
