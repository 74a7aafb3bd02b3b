#!/usr/bin/env bash
# Pulls an image, and gives up if the registry does not answer in time. After its first answer there is no limit.
#
#   pull.sh [IMAGE [SECONDS]]       IMAGE defaults to zookeeper:3.9, SECONDS to wait for an answer to 10
set -euo pipefail

image=${1:-zookeeper:3.9}
patience=${2:-10}
said=$(mktemp)
docker pull "$image" >"$said" &
pull=$!
trap 'kill "$pull" 2>/dev/null || true; rm -f "$said"' EXIT

for ((i = 0; i < patience * 10; i++)); do # the first line of output is the registry's answer
	if [ -s "$said" ] || ! kill -0 "$pull" 2>/dev/null; then
		wait "$pull"
		exit
	fi
	sleep 0.1
done
echo "no registry answered within $patience s" >&2
exit 1
