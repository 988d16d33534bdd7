# The loopscope binary alone in an image: no shell, no libc, no writable file.
# Run it with a read-only root: docker run --read-only --user 65532 …
# For other machines: docker buildx build --platform=linux/amd64,linux/arm64 …; Go compiles for them
# on this one.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG VERSION=dev
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY . .
# Without the workspace, whose other module the image's context leaves out.
RUN GOWORK=off go mod download
RUN CGO_ENABLED=0 GOWORK=off GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=${VERSION}" -o /out/loopscope ./cmd/loopscope

FROM scratch
LABEL org.opencontainers.image.title="loopscope" \
      org.opencontainers.image.description="An oscilloscope for Kubernetes control loops" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.source="https://github.com/loopscope/loopscope"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chmod=0555 /out/loopscope /loopscope
USER 65532:65532
ENTRYPOINT ["/loopscope"]
CMD ["manager"]
