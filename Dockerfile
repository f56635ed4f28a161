# A worker in nothing but its own binary.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /tieout ./cmd/tieout

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /tieout /tieout
USER 65532:65532
EXPOSE 9464
ENTRYPOINT ["/tieout"]
CMD ["--help"]
