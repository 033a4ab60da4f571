#!/bin/sh
# PAPERLESS_POST_CONSUME_SCRIPT: tags each document as soon as it is in the archive. NEARTAG_MODEL is a model's folder, or,
# which is quicker, the address of a running `neartag serve`. It only shows the tags unless NEARTAG_WRITE is set.
exec "${PYTHON:-python3}" "$(dirname "$0")/paperless_tags.py" tag "$NEARTAG_MODEL" "$DOCUMENT_ID" ${NEARTAG_WRITE:+--write}
