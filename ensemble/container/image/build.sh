#!/usr/bin/env bash
# Builds a ZooKeeper image from Debian packages, for machines without access to an image registry.
#
#   build.sh [TAG]        TAG defaults to zkbench/zookeeper:3.9
#
# The image supports the environment variables of the official `zookeeper` image (see docker-entrypoint.sh), so that
# compose.yaml works with both. Needs mmdebstrap, root (or unprivileged user namespaces) and a Docker engine.
set -euo pipefail

tag=${1:-zkbench/zookeeper:3.9}
here=$(cd "$(dirname "$0")" && pwd)

if ! command -v mmdebstrap >/dev/null; then
	echo "mmdebstrap is not installed: apt-get install mmdebstrap" >&2
	exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Note: the hooks run outside the new root, where the image's users do not exist, so that they cannot set the owner of files.
# The entry point gives the data folders to the zookeeper user when a container starts.
#
# The tarball is completed before the import, so that a build that fails does not leave a tagged image.
mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Retries "3"' \
	--include=openjdk-21-jre-headless,zookeeper \
	--dpkgopt='path-exclude=/usr/share/doc/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' \
	--customize-hook="copy-in $here/docker-entrypoint.sh /" \
	--customize-hook='chmod 0755 "$1/docker-entrypoint.sh"' \
	trixie "$work/root.tar"

docker import \
	--change 'ENTRYPOINT ["/docker-entrypoint.sh"]' \
	--change 'CMD ["zookeeper"]' \
	--change 'EXPOSE 2181 2888 3888' \
	--message 'ZooKeeper and OpenJDK 21 from Debian trixie' \
	"$work/root.tar" "$tag"
