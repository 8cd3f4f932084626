FROM golang:1.26 AS build
WORKDIR /src
# The modules first: this layer is made anew only when go.mod or go.sum change.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /fencepost ./cmd/fencepost

# Nothing but the binary: it needs no shell, no certificates and no file of its own.
FROM scratch
COPY --from=build /fencepost /fencepost
USER 65532:65532
EXPOSE 9092 9644
ENTRYPOINT ["/fencepost"]
# Inside of a container the loopback defaults would reach nobody. Arguments to
# `docker run` replace this line as a whole.
CMD ["--listen", "0.0.0.0:9092=127.0.0.1:9092", "--http", "0.0.0.0:9644"]
