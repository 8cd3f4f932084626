package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// createTopic makes a topic and waits until each of its partitions is served: Kafka
// names a leader before that one knows it.
func (c *conn) createTopic(ctx context.Context, topic string, partitions int, configs map[string]string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 4, 10_000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, int32(partitions), 1
	for name, value := range configs {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: name, Value: &value})
	}
	req.Topics = append(req.Topics, t)
	resp, err := c.ask(req)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.CreateTopicsResponse).Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return fmt.Errorf("topic %s: %w", t.Topic, err)
		}
	}
	return c.awaitLeaders(ctx, topic, partitions)
}

// leaderPause is how long is waited before leaders are asked for again.
const leaderPause = 50 * time.Millisecond

func (c *conn) awaitLeaders(ctx context.Context, topic string, partitions int) error {
	for {
		err := c.served(topic, partitions)
		if !errors.Is(err, kerr.NotLeaderForPartition) && !errors.Is(err, kerr.UnknownTopicOrPartition) && !errors.Is(err, kerr.LeaderNotAvailable) {
			return err
		}
		select {
		case <-time.After(leaderPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// served says why a partition is not.
func (c *conn) served(topic string, partitions int) error {
	const endOfLog = -1
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = 5, -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for i := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = int32(i), endOfLog
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	resp, err := c.ask(req)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.ListOffsetsResponse).Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("partition %d of %s: %w", p.Partition, topic, err)
			}
		}
	}
	return nil
}

// deleteTopic gives back what a sample took of a broker that serves on.
func (c *conn) deleteTopic(topic string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version, req.TimeoutMillis, req.TopicNames = 4, 10_000, []string{topic}
	_, err := c.ask(req)
	return err
}

// deleteRecords empties every partition of a topic.
func (c *conn) deleteRecords(topic string, partitions int) error {
	const toTheEnd = -1
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis = 1, 10_000
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic = topic
	for i := range partitions {
		t.Partitions = append(t.Partitions, kmsg.DeleteRecordsRequestTopicPartition{Partition: int32(i), Offset: toTheEnd})
	}
	req.Topics = append(req.Topics, t)
	resp, err := c.ask(req)
	if err != nil {
		return err
	}
	for _, t := range resp.(*kmsg.DeleteRecordsResponse).Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("deleting the records of partition %d of %s: %w", p.Partition, topic, err)
			}
		}
	}
	return nil
}

// producerID gets a producer id and its epoch.
func (c *conn) producerID() (id int64, epoch int16, err error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionTimeoutMillis = 1, 60_000
	got, err := c.ask(req)
	if err != nil {
		return 0, 0, err
	}
	resp := got.(*kmsg.InitProducerIDResponse)
	return resp.ProducerID, resp.ProducerEpoch, kerr.ErrorForCode(resp.ErrorCode)
}
