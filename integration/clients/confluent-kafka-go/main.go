// The program for confluent-kafka-go; see ../require.go for the contract.
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

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
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

// config adds pairs to what all clients have. Without the backoffs librdkafka
// waits up to ten seconds before it connects again.
func config(pairs ...any) *kafka.ConfigMap {
	c := &kafka.ConfigMap{
		"bootstrap.servers":    os.Getenv("KAFKA_BOOTSTRAP_SERVERS"),
		"reconnect.backoff.ms": 1, "reconnect.backoff.max.ms": 10,
	}
	for i := 0; i < len(pairs); i += 2 {
		(*c)[pairs[i].(string)] = pairs[i+1]
	}
	return c
}

func produce(job []string) error {
	topic := job[0]
	records, _ := strconv.Atoi(job[1])
	batch, _ := strconv.Atoi(job[3])
	producer, err := kafka.NewProducer(config("enable.idempotence", job[4] == "idempotent", "compression.type", job[2],
		"batch.num.messages", batch, "linger.ms", 5, "retry.backoff.ms", 10, "delivery.timeout.ms", 20000))
	if err != nil {
		return err
	}
	defer producer.Close()
	for first := 0; first < records; first += batch {
		reports := make(chan kafka.Event, batch)
		sent := 0
		for n := first; n < min(first+batch, records); n++ {
			err := producer.Produce(&kafka.Message{
				TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny},
				Key:            fmt.Appendf(nil, "k-%d", n), Value: fmt.Appendf(nil, "value %d", n),
				Headers: []kafka.Header{{Key: "from", Value: []byte("matrix")}}, Opaque: n,
			}, reports)
			if err != nil {
				failed(topic, n, err)
				continue
			}
			sent++
		}
		for range sent {
			told(topic, (<-reports).(*kafka.Message))
		}
	}
	return nil
}

func told(topic string, m *kafka.Message) {
	if err := m.TopicPartition.Error; err != nil {
		failed(topic, m.Opaque, err)
		return
	}
	tell(line{"topic": topic, "n": m.Opaque, "partition": m.TopicPartition.Partition, "offset": m.TopicPartition.Offset})
}

func failed(topic string, n any, err error) {
	tell(line{"topic": topic, "n": n, "partition": -1, "offset": -1, "error": err.Error()})
}

func consume(topic, group string) error {
	protocol := os.Getenv("GROUP_PROTOCOL")
	consumer, err := kafka.NewConsumer(config("group.id", group, "group.protocol", protocol,
		"auto.offset.reset", "earliest", "enable.auto.commit", false))
	if err == nil {
		err = consumer.Subscribe(topic, nil)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	for ctx.Err() == nil {
		m, isMessage := consumer.Poll(200).(*kafka.Message)
		if !isMessage {
			continue
		}
		if _, err := consumer.CommitMessage(m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue // others have read it, or will
		}
		at := m.TopicPartition
		tell(line{"topic": topic, "partition": at.Partition, "offset": at.Offset, "key": string(m.Key), "header": string(m.Headers[0].Value)})
	}
	return consumer.Close()
}

func administer(topic string) error {
	admin, err := kafka.NewAdminClient(config())
	if err != nil {
		return err
	}
	defer admin.Close()
	made, err := admin.CreateTopics(context.Background(), []kafka.TopicSpecification{{Topic: topic, NumPartitions: 3, ReplicationFactor: 1}})
	if err == nil && made[0].Error.Code() != kafka.ErrNoError {
		err = made[0].Error
	}
	if err != nil {
		return err
	}
	all, err := admin.GetMetadata(nil, true, 10_000)
	if err != nil {
		return err
	}
	var listed []string
	for name := range all.Topics {
		listed = append(listed, name)
	}
	tell(line{"version": version(), "listed": listed, "partitions": len(all.Topics[topic].Partitions)})
	return nil
}

// version is the one that go.mod asks for, and librdkafka's.
func version() string {
	info, _ := debug.ReadBuildInfo()
	at := slices.IndexFunc(info.Deps, func(m *debug.Module) bool {
		return m.Path == "github.com/confluentinc/confluent-kafka-go/v2"
	})
	_, librdkafka := kafka.LibraryVersion()
	return strings.TrimPrefix(info.Deps[at].Version, "v") + " (librdkafka " + librdkafka + ")"
}
