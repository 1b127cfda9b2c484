#!/usr/bin/env bash
# Run one turn and print its events.
set -euo pipefail
curl --silent --show-error --fail-with-body --no-buffer "${ENGINE_URL:-http://127.0.0.1:8000}/execute" \
  -H "X-Engine-Key: $ENGINE_KEY" -H "Content-Type: application/json" \
  -d '{"message": "Which files are here?", "task_id": "example-5"}'
