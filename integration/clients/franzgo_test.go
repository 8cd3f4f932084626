package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// franzGo is the program for franz-go.
func franzGo(args []string) int {
	var err error
	switch args[0] {
	case "produce":
		for _, job := range args[1:] {
			err = errors.Join(err, franzGoProduce(strings.Split(job, ",")))
		}
	case "consume":
		err = franzGoConsume(args[1], args[2])
	case "admin":
		err = franzGoAdmin(args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func tell(line any) { json.NewEncoder(os.Stdout).Encode(line) } //nolint:errcheck // whoever reads is gone

// franzGoClient makes a client that tries again at once. The waits that it has by
// default are for clusters.
func franzGoClient(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(os.Getenv("KAFKA_BOOTSTRAP_SERVERS")),
		kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond }),
		kgo.MetadataMinAge(10 * time.Millisecond),
		kgo.ProduceRequestTimeout(time.Second),
		kgo.RequestTimeoutOverhead(time.Second),
	}, options...)...)
}

func franzGoProduce(job []string) error {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	topic, batch := job[0], 0
	records, err := strconv.Atoi(job[1])
	if err == nil {
		batch, err = strconv.Atoi(job[3])
	}
	if err != nil {
		return err
	}
	options := []kgo.Opt{kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(codecs[job[2]])}
	if job[4] == "plain" {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	client, err := franzGoClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	for n := 0; n < records; n += batch {
		var rs []*kgo.Record
		for i := n; i < min(n+batch, records); i++ {
			rs = append(rs, &kgo.Record{
				Key: fmt.Appendf(nil, "k-%d", i), Value: fmt.Appendf(nil, "value %d", i),
				Headers: []kgo.RecordHeader{{Key: "from", Value: []byte("matrix")}},
			})
		}
		for i, r := range client.ProduceSync(context.Background(), rs...) {
			tell(told{Topic: topic, N: n + i, Partition: r.Record.Partition, Offset: r.Record.Offset, Error: errorName(r.Err)})
		}
	}
	return nil
}

func errorName(err error) string {
	var ke *kerr.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &ke):
		return ke.Message
	}
	return err.Error()
}

func franzGoConsume(topic, group string) error {
	client, err := franzGoClient(kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // its end is what counts
		cancel()
	}()
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		if err := client.CommitUncommittedOffsets(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue // others have read it, or will
		}
		fetches.EachRecord(func(r *kgo.Record) {
			line := read{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Key: string(r.Key)}
			for _, h := range r.Headers {
				line.Header = string(h.Value)
			}
			tell(line)
		})
	}
	return nil
}

func franzGoAdmin(topic string) error {
	client, err := franzGoClient()
	if err != nil {
		return err
	}
	defer client.Close()
	admin, ctx := kadm.NewClient(client), context.Background()
	if _, err := admin.CreateTopic(ctx, 3, 1, nil, topic); err != nil {
		return err
	}
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		return err
	}
	tell(seen{Version: franzGoVersion(), Listed: topics.Names(), Partitions: len(topics[topic].Partitions)})
	return nil
}

// franzGoVersion is the version that go.mod asks for.
func franzGoVersion() string {
	text, _ := os.ReadFile("../../go.mod") //nolint:errcheck // no version is found then
	_, rest, _ := strings.Cut(string(text), "github.com/twmb/franz-go v")
	version, _, _ := strings.Cut(rest, "\n")
	return version
}
