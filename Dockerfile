# CI follows the COPY and npm lines of this file without Docker: scripts/image.mjs.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
COPY acp/package.json ./acp/package.json
COPY client/package.json ./client/package.json
COPY web/package.json ./web/package.json
RUN npm ci --no-audit --no-fund
COPY LICENSE CHANGELOG.md tsconfig.json tsconfig.build.json nest-cli.json ormconfig.ts ./
COPY scripts ./scripts
COPY simulator ./simulator
COPY src ./src
COPY acp ./acp
COPY client ./client
COPY web ./web
# What npm start uses of a build to start faster takes 25 MB of memory, and 20 MB of the image.
ENV NODE_DISABLE_COMPILE_CACHE=1
RUN npm run release

FROM node:24-bookworm-slim AS production-packages
WORKDIR /app
# The release names the packages that are not in its bundle.
COPY --from=build /app/dist/release/package.json /app/dist/release/npm-shrinkwrap.json ./
RUN npm ci --omit=dev --no-audit --no-fund

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title=Plinth \
  org.opencontainers.image.description="The backend on which a company's AI applications stand" \
  org.opencontainers.image.licenses=UNLICENSED
# Set by the pipeline: `docker buildx build --platform linux/amd64,linux/arm64 --label org.opencontainers.image.revision=…`.
# Further packages of Debian, such as tesseract-ocr for text recognition (docs/KNOWLEDGE.md, Scans and images).
ARG IMAGE_PACKAGES
# For the commands of the coding harness: their sandbox, and what they want most beside Node. For the service: its allocator.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git libjemalloc2 $IMAGE_PACKAGES \
  && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production HOST=0.0.0.0 PORT=6039 DATA_DIR=/data LOG_FORMAT=json
# Gives back memory that is no longer used (docs/OPERATIONS.md, Memory).
ENV LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=background_thread:true,dirty_decay_ms:5000,muzzy_decay_ms:0,narenas:2
WORKDIR /app
COPY --from=production-packages /app/node_modules ./node_modules
COPY --from=build /app/dist/release .
# A new volume takes the owner of the folder it is mounted on.
RUN mkdir /data /workspaces && chown node:node /data /workspaces
USER node
VOLUME /data /workspaces
EXPOSE 6039
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# docs/OPERATIONS.md, Memory.
CMD ["node", "--max-semi-space-size=32", "dist/src/main.js"]
