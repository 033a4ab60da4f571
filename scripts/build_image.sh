#!/bin/sh
# Build the image of the Dockerfile, with docker, podman or buildah.
#
#   scripts/build_image.sh             from the base image that the Dockerfile names
#   scripts/build_image.sh packages    from a base that mmdebstrap makes of Debian's packages: needs no registry of
#                                      images, but root, mmdebstrap, podman and buildah
#
# IMAGE names the image (neartag), CPU the processor that kernels are compiled for (generic).
set -eu
cd "$(dirname "$0")/.."
image=${IMAGE:-neartag}
cpu=${CPU:-generic}

if [ "${1:-}" != packages ]; then
  if docker info >/dev/null 2>&1; then
    builder=docker
  elif command -v podman >/dev/null; then
    builder=podman
  else
    echo "neither docker, with its daemon running, nor podman is installed" >&2
    exit 1
  fi
  exec "$builder" build --build-arg "CPU=$cpu" --tag "$image" .
fi

# As Debian's own slim images: without manuals, translations and documents other than licences.
if ! podman image exists localhost/debian:trixie-slim; then
  mmdebstrap --variant=minbase \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    trixie - | podman import - localhost/debian:trixie-slim
fi
# The certificates of this machine, so that pip trusts what this machine trusts. They are not part of the image.
exec buildah build --layers --isolation chroot --network host --format docker \
  --volume /etc/ssl/certs/ca-certificates.crt:/run/certificates.crt:ro --build-arg PIP_CERT=/run/certificates.crt \
  --build-arg BASE=localhost/debian:trixie-slim --build-arg "CPU=$cpu" --tag "$image" .
