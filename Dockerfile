# neartag's server in a container: slim, not root, for a read-only root file system (docs/deployment.md).
#
#   docker build -t neartag .
#   docker run --read-only --tmpfs /tmp -v ./model:/model:ro -p 127.0.0.1:8000:8000 neartag
#
# Any image of Debian with apt will do as BASE; scripts/build_image.sh makes one from Debian's packages.
ARG BASE=debian:trixie-slim

FROM ${BASE} AS python
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3 \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log

FROM python AS build
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates python3-venv
RUN python3 -m venv /opt/neartag
# A file of certificates that pip shall trust, where a network has its own: mount it while the image is built.
ARG PIP_CERT
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
RUN /opt/neartag/bin/pip install --no-cache-dir --disable-pip-version-check "/source[serve]"
# What a server never needs: pip itself, and the tests of the large packages.
RUN /opt/neartag/bin/pip uninstall --yes pip \
 && cd /opt/neartag/lib/python3*/site-packages \
 && find numpy scipy sklearn numba -type d -name tests -prune -exec rm -rf {} + \
 && find . -name '*.pyi' -delete
# An image keeps the times of files in whole seconds, and numba of before 0.68 compares times: whole seconds from now on.
ARG SOURCE_DATE_EPOCH=1735689600
RUN find /opt/neartag -exec touch --no-dereference --date=@${SOURCE_DATE_EPOCH} {} +
# Machine code for one kind of processor, here and wherever the image runs: code for another kind would not be used.
ARG CPU=generic
ENV NUMBA_CPU_NAME=${CPU} NUMBA_CPU_FEATURES=""
RUN NUMBA_CACHE_DIR=/opt/neartag/kernels /opt/neartag/bin/neartag warm-up --quiet

FROM python
ARG CPU=generic
ENV PATH=/opt/neartag/bin:$PATH HOME=/tmp NUMBA_CACHE_DIR=/tmp/numba NUMBA_CPU_NAME=${CPU} NUMBA_CPU_FEATURES=""
COPY --from=build /opt/neartag /opt/neartag
COPY --chmod=755 deploy/entrypoint.sh /usr/local/bin/neartag-entrypoint
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
  CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["neartag-entrypoint"]
CMD ["serve", "/model", "--host", "0.0.0.0"]
