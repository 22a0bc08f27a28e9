# One image for web, worker and beat; compose.yaml says which is which. State lives below /data.
FROM python:3.13-slim AS build
WORKDIR /app
COPY requirements/core.txt requirements/core.txt
RUN python -m venv .venv && .venv/bin/pip install --no-cache-dir --require-hashes -r requirements/core.txt

FROM python:3.13-slim
RUN useradd --system --create-home --uid 10001 evalrouter && mkdir /data && chown evalrouter /data
WORKDIR /app
COPY --from=build /app/.venv .venv
COPY . .
ENV PATH=/app/.venv/bin:$PATH PYTHONUNBUFFERED=1 DATA_DIR=/data HOST=0.0.0.0 PORT=8000
# Static files get names with their hash; no secret is needed for that, so it happens without production's settings.
RUN DATA_DIR=/tmp/build python manage.py collectstatic --no-input --verbosity 0 && rm -rf /tmp/build
USER evalrouter
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=3)"]
CMD ["python", "manage.py", "serve"]
