// The program for sarama; see ../require.go for the contract.
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

	"github.com/IBM/sarama"
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

func servers() []string { return strings.Split(os.Getenv("KAFKA_BOOTSTRAP_SERVERS"), ",") }

func config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.V2_8_0_0
	c.Metadata.Retry.Backoff = 10 * time.Millisecond
	return c
}

func produce(job []string) error {
	topic := job[0]
	records, _ := strconv.Atoi(job[1])
	batch, _ := strconv.Atoi(job[3])
	c := config()
	if err := c.Producer.Compression.UnmarshalText([]byte(job[2])); err != nil {
		return err
	}
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Return.Successes = true
	// The default of 3 retries does not outlive every tenth ack being lost.
	c.Producer.Retry.Max, c.Producer.Retry.Backoff = 20, 10*time.Millisecond
	c.Producer.Flush.Messages, c.Producer.Flush.Frequency = batch, 5*time.Millisecond
	c.Net.MaxOpenRequests = 1
	c.Producer.Idempotent = job[4] == "idempotent"
	producer, err := sarama.NewSyncProducer(servers(), c)
	if err != nil {
		return err
	}
	defer producer.Close()
	for first := 0; first < records; first += batch {
		var messages []*sarama.ProducerMessage
		for n := first; n < min(first+batch, records); n++ {
			messages = append(messages, &sarama.ProducerMessage{
				Topic: topic, Key: sarama.StringEncoder(fmt.Sprint("k-", n)), Value: sarama.StringEncoder(fmt.Sprint("value ", n)),
				Headers: []sarama.RecordHeader{{Key: []byte("from"), Value: []byte("matrix")}}, Metadata: n,
			})
		}
		told(topic, messages, producer.SendMessages(messages))
	}
	return nil
}

func told(topic string, messages []*sarama.ProducerMessage, err error) {
	failed := map[any]error{}
	var all sarama.ProducerErrors
	errors.As(err, &all)
	for _, e := range all {
		failed[e.Msg.Metadata] = e.Err
	}
	for _, m := range messages {
		if err := failed[m.Metadata]; err != nil {
			tell(line{"topic": topic, "n": m.Metadata, "partition": -1, "offset": -1, "error": err.Error()})
		} else {
			tell(line{"topic": topic, "n": m.Metadata, "partition": m.Partition, "offset": m.Offset})
		}
	}
}

// A member is one of a consumer group.
type member struct{}

func (member) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for first := range claim.Messages() {
		messages := append([]*sarama.ConsumerMessage{first}, atHand(claim)...)
		session.MarkMessage(messages[len(messages)-1], "")
		session.Commit()
		for _, m := range messages {
			tell(line{"topic": m.Topic, "partition": m.Partition, "offset": m.Offset, "key": string(m.Key), "header": string(m.Headers[0].Value)})
		}
	}
	return nil
}

// atHand are the messages that need not be waited for. They are committed together: a
// commit stands behind a Fetch on its connection, and may wait as long as that.
func atHand(claim sarama.ConsumerGroupClaim) (messages []*sarama.ConsumerMessage) {
	for {
		select {
		case m, ok := <-claim.Messages():
			if !ok {
				return messages
			}
			messages = append(messages, m)
		default:
			return messages
		}
	}
}

func consume(topic, name string) error {
	c := config()
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Enable = false
	group, err := sarama.NewConsumerGroup(servers(), name, c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	for ctx.Err() == nil {
		if err := group.Consume(ctx, []string{topic}, member{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return group.Close()
}

func administer(topic string) error {
	admin, err := sarama.NewClusterAdmin(servers(), config())
	if err != nil {
		return err
	}
	defer admin.Close()
	if err := admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 1}, false); err != nil {
		return err
	}
	topics, err := admin.ListTopics()
	if err != nil {
		return err
	}
	var listed []string
	for name := range topics {
		listed = append(listed, name)
	}
	described, err := admin.DescribeTopics([]string{topic})
	if err != nil {
		return err
	}
	tell(line{"version": version(), "listed": listed, "partitions": len(described[0].Partitions)})
	return nil
}

// version is the one that go.mod asks for.
func version() string {
	info, _ := debug.ReadBuildInfo()
	at := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == "github.com/IBM/sarama" })
	return strings.TrimPrefix(info.Deps[at].Version, "v")
}
