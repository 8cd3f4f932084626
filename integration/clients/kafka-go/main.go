// The program for segmentio/kafka-go; see ../require.go for the contract. It has
// no idempotence.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

type line = map[string]any

func tell(l line) { json.NewEncoder(os.Stdout).Encode(l) }

func main() {
	var err error
	switch os.Args[1] {
	case "produce":
		for _, job := range os.Args[2:] {
			err = errors.Join(err, produce(strings.Split(job, ",")))
		}
	case "consume":
		err = consume(os.Args[2], os.Args[3])
	default:
		err = administer(os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func servers() string { return os.Getenv("KAFKA_BOOTSTRAP_SERVERS") }

func produce(job []string) error {
	topic := job[0]
	records, _ := strconv.Atoi(job[1])
	batch, _ := strconv.Atoi(job[3])
	writer := &kafka.Writer{
		Addr: kafka.TCP(servers()), Topic: topic, RequiredAcks: kafka.RequireAll,
		BatchSize: batch, BatchTimeout: 5 * time.Millisecond,
		WriteBackoffMin: 10 * time.Millisecond, WriteBackoffMax: 10 * time.Millisecond,
	}
	if job[2] != "none" {
		if err := writer.Compression.UnmarshalText([]byte(job[2])); err != nil {
			return err
		}
	}
	// After a write a message holds where it stands.
	var done []kafka.Message
	writer.Completion = func(messages []kafka.Message, err error) { done = append(done, messages...) }
	for first := 0; first < records; first += batch {
		done = nil
		var messages []kafka.Message
		for n := first; n < min(first+batch, records); n++ {
			messages = append(messages, kafka.Message{
				Key: fmt.Appendf(nil, "k-%d", n), Value: fmt.Appendf(nil, "value %d", n),
				Headers: []kafka.Header{{Key: "from", Value: []byte("matrix")}},
			})
		}
		if err := writer.WriteMessages(context.Background(), messages...); err != nil {
			for i := range messages {
				tell(line{"topic": topic, "n": first + i, "partition": -1, "offset": -1, "error": err.Error()})
			}
			continue
		}
		for i, m := range done {
			tell(line{"topic": topic, "n": first + i, "partition": m.Partition, "offset": m.Offset})
		}
	}
	return writer.Close()
}

func consume(topic, group string) error {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{servers()}, Topic: topic, GroupID: group, StartOffset: kafka.FirstOffset, MaxWait: 200 * time.Millisecond,
		HeartbeatInterval: 500 * time.Millisecond,
	})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	for {
		m, err := reader.FetchMessage(ctx)
		if ctx.Err() != nil {
			return reader.Close()
		}
		if err == nil {
			err = reader.CommitMessages(context.Background(), m)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue // others have read it, or will
		}
		tell(line{"topic": m.Topic, "partition": m.Partition, "offset": m.Offset, "key": string(m.Key), "header": string(m.Headers[0].Value)})
	}
}

func administer(topic string) error {
	client, ctx := &kafka.Client{Addr: kafka.TCP(servers())}, context.Background()
	made, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: 3, ReplicationFactor: 1}},
	})
	if err == nil {
		err = made.Errors[topic]
	}
	if err != nil {
		return err
	}
	all, err := client.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return err
	}
	var listed []string
	partitions := 0
	for _, t := range all.Topics {
		listed = append(listed, t.Name)
		if t.Name == topic {
			partitions = len(t.Partitions)
		}
	}
	tell(line{"version": version(), "listed": listed, "partitions": partitions})
	return nil
}

// version is the one that go.mod asks for.
func version() string {
	info, _ := debug.ReadBuildInfo()
	at := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == "github.com/segmentio/kafka-go" })
	return strings.TrimPrefix(info.Deps[at].Version, "v")
}
