package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/fencepostmq/fencepost"
	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

func newDemo() *cobra.Command {
	var seed uint64
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the rules at work, then a stock franz-go producer that loses every acknowledgement once",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd.Context(), cmd.OutOrStdout(), seed)
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 42, "seed of everything drawn by chance")
	return cmd
}

func demo(ctx context.Context, out io.Writer, seed uint64) error {
	b, err := fencepost.Run(fencepost.Seed(seed), fencepost.Topic("lesson", 1), fencepost.Topic("orders", 1))
	if err != nil {
		return err
	}
	defer b.Close()
	fmt.Fprintf(out, "Kafka at %s, seed %d\n\n", b.Addr(), b.Seed())
	d := demonstration{ctx: ctx, out: out, b: b}
	for _, part := range []func() error{d.lesson, d.lostAcks} {
		if err := part(); ctx.Err() != nil {
			break // interrupted: what there is so far is judged
		} else if err != nil {
			return fmt.Errorf("the demo failed: %w", err)
		}
	}
	return d.proof(context.WithoutCancel(ctx))
}

type demonstration struct {
	ctx context.Context
	out io.Writer
	b   *fencepost.Broker
}

// lesson sends batches by hand, so that each rule is seen to decide.
func (d *demonstration) lesson() error {
	fmt.Fprint(d.out, "A producer numbers its records; the broker remembers its last five batches.\n\n")
	fmt.Fprintf(d.out, "  %-29s %-15s %s\n", "sent", "epoch, sequences", "what the broker did")
	cl, err := kgo.NewClient(kgo.SeedBrokers(d.b.Addr()), kgo.MaxVersions(namedTopics()))
	if err != nil {
		return err
	}
	defer cl.Close()
	init := kmsg.NewPtrInitProducerIDRequest()
	init.ProducerID, init.ProducerEpoch = -1, -1
	id, err := init.RequestWith(d.ctx, cl)
	if err != nil {
		return err
	}
	for _, s := range []struct {
		epoch       int16
		first, last int32
		says        string
	}{
		{0, 0, 2, "three new records"},
		{0, 3, 4, "the next two"},
		{0, 3, 4, "again, as if the ack was lost"},
		{0, 7, 7, "5 and 6 are missing"},
		{1, 7, 7, "a new epoch, not from 0"},
		{1, 0, 0, "a new epoch, from 0"},
		{0, 5, 5, "a zombie of the old epoch"},
	} {
		if err := d.send(cl, id.ProducerID, s.epoch, s.first, s.last); err != nil {
			return err
		}
		events := d.b.Events()
		e := events[len(events)-1]
		fmt.Fprintf(d.out, "  %-29s %d, %-12s %s\n", s.says, s.epoch, span(s.first, s.last), e.DoneText())
	}
	fmt.Fprintln(d.out)
	return nil
}

func span(first, last int32) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d to %d", first, last)
}

// namedTopics keeps a client to Produce versions that name topics, which a
// request made by hand does.
func namedTopics() *kversion.Versions {
	v := kversion.Stable()
	v.SetMaxKeyVersion(int16(kmsg.Produce), 12)
	return v
}

// send writes one batch with these numbers to lesson-0.
func (d *demonstration) send(cl *kgo.Client, id int64, epoch int16, first, last int32) error {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 10_000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = "lesson"
	p := kmsg.NewProduceRequestTopicPartition()
	p.Records = handMade(id, epoch, first, last)
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	_, err := req.RequestWith(d.ctx, cl.Broker(1))
	return err
}

// handMade is a batch of records that say their own sequence.
func handMade(id int64, epoch int16, first, last int32) []byte {
	var records []byte
	for s := first; s <= last; s++ {
		r := kmsg.NewRecord()
		r.OffsetDelta, r.Value = s-first, fmt.Appendf(nil, "record %d of epoch %d", s, epoch)
		r.Length = int32(len(r.AppendTo(nil)) - 1) // less the one byte of the length itself
		records = r.AppendTo(records)
	}
	b := kmsg.NewRecordBatch()
	b.Magic, b.PartitionLeaderEpoch = 2, -1
	b.ProducerID, b.ProducerEpoch, b.FirstSequence = id, epoch, first
	b.NumRecords, b.LastOffsetDelta = last-first+1, last-first
	b.FirstTimestamp = time.Now().UnixMilli()
	b.MaxTimestamp = b.FirstTimestamp
	b.Records = records
	b.Length = int32(49 + len(records))
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

const (
	demoRecords = 1000
	demoBatch   = 10 // records of a batch
	demoShown   = 4  // deliveries that are shown
	loseEach    = "disconnect after produce topic=orders attempt=1 times=all"
)

// lostAcks lets a stock producer lose the acknowledgement of every batch once.
func (d *demonstration) lostAcks() error {
	fmt.Fprintf(d.out, "A stock franz-go producer writes %d records and loses every ack once:\n  %s\n\n", demoRecords, loseEach)
	if err := d.b.Fault(loseEach); err != nil {
		return err
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(d.b.Addr()), kgo.DefaultProduceTopic("orders"), kgo.ClientID("orders-app"), kgo.ManualFlushing(),
		kgo.RetryBackoffFn(func(int) time.Duration { return time.Millisecond }), kgo.MetadataMinAge(10*time.Millisecond))
	if err != nil {
		return err
	}
	defer cl.Close()
	for n := 0; n < demoRecords; n += demoBatch {
		if err := d.produceBatch(cl, n); err != nil {
			return err
		}
		d.show(n / demoBatch)
	}
	fmt.Fprintf(d.out, "  ... and so on: the producer was told of all %d records\n\n", demoRecords)
	return nil
}

// produceBatch sends records from number n on as one batch: it is flushed by
// hand, so that no pause of the machine splits it.
func (d *demonstration) produceBatch(cl *kgo.Client, n int) error {
	var failed kgo.FirstErrPromise
	for i := n; i < n+demoBatch; i++ {
		cl.Produce(d.ctx, kgo.KeyStringRecord(fmt.Sprintf("o-%d", i), fmt.Sprintf("order %d", i)), failed.Promise())
	}
	if err := cl.Flush(d.ctx); err != nil {
		return err
	}
	return failed.Err()
}

// show prints what became of the first batches.
func (d *demonstration) show(batch int) {
	if batch >= demoShown/2 {
		return
	}
	events := d.b.Events()
	for _, e := range events[len(events)-2:] {
		fmt.Fprintf(d.out, "  sequences %-8s delivery %d: %-28s %s\n", span(e.FirstSequence, e.LastSequence), e.Attempt, e.DoneText(), e.ToldText())
	}
}

// proof prints the verdict.
func (d *demonstration) proof(ctx context.Context) error {
	v, err := d.b.Verdict(ctx)
	if err != nil {
		return err
	}
	for _, topic := range v.Topics {
		if topic.Topic != "orders" {
			continue
		}
		fmt.Fprint(d.out, topic)
		if !topic.ExactlyOnce {
			return exitCode(exitBroken)
		}
	}
	return nil
}
