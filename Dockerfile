# One image for the API, the worker and the migrations; the command says which.
ARG PYTHON_IMAGE=python:3.12-slim

FROM ${PYTHON_IMAGE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
RUN python -m venv --without-pip /opt/askless
# The dependencies by themselves: a change of the source does not install them again.
COPY requirements.lock ./
RUN pip --python /opt/askless/bin/python install --require-hashes --requirement requirements.lock
# Further extras of ours by name, such as telemetry.
ARG EXTRAS=
COPY pyproject.toml requirements-dev.lock ./
COPY tools/locks.py tools/
RUN [ -z "${EXTRAS}" ] \
 || { python tools/locks.py extras ${EXTRAS} > extras.txt \
   && pip --python /opt/askless/bin/python install --require-hashes --requirement requirements.lock --requirement extras.txt; }
COPY LICENSE README.md requirements.cdx.json ./
# With the guide at /docs/guide where `make docs` has built it.
COPY askless askless
RUN pip --python /opt/askless/bin/python install --no-deps .

FROM ${PYTHON_IMAGE}
# numba's threads need GNU OpenMP; without it only one thread may call parallel kernels.
# Its version is the base image's release's: pinned, it would be gone with the next fix.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libgomp1 \
 && apt-get clean \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 askless \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp askless \
 && install --directory --owner askless --group askless /var/lib/askless
COPY --from=build /opt/askless /opt/askless
ENV PATH=/opt/askless/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp \
    ASKLESS_HOME=/var/lib/askless \
    NUMBA_CACHE_DIR=/tmp/kernels
# Compiled once here: a container on the same kind of processor copies what it needs
# (its root may be read-only), any other compiles at its start. Whole seconds, since
# layers keep no smaller parts of a file's time and numba compares it.
RUN find /opt/askless/lib -path '*/site-packages/askless/core/*' -exec touch --date=@1700000000 {} + \
 && python -m compileall -q /opt/askless/lib/python*/site-packages/askless/core \
 && NUMBA_CACHE_DIR=/opt/kernels askless compile-kernels
COPY --chmod=755 docker-entrypoint.sh /usr/local/bin/
USER 10001:10001
VOLUME /var/lib/askless
EXPOSE 8000
HEALTHCHECK --interval=5s --timeout=4s --start-period=60s --retries=3 \
  CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/readyz', timeout=3)"]
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["askless", "serve", "--host", "0.0.0.0"]
