package integration

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/fencepostmq/fencepost"
	"github.com/twmb/franz-go/pkg/kgo"
)

// largeRecords are values of up to 300 kB, small ones among them. They cannot be
// compressed, and each tells which it is.
func largeRecords(seed uint64) []*kgo.Record {
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	sizes := rand.New(random)
	var all []*kgo.Record
	for i := range 150 {
		size := sizes.IntN(300 << 10)
		if i%3 == 0 {
			size = sizes.IntN(1 << 10)
		}
		value := make([]byte, size)
		random.Read(value) //nolint:errcheck // never fails
		all = append(all, &kgo.Record{Topic: "large", Key: []byte(key(i)), Value: value})
	}
	return all
}

// A large batch is kept in the memory that it came in, and written from there. Whatever
// is lost, replayed, refused or comes behind it, every record is read back as it was.
func TestLarge_batches_are_read_back_as_they_were(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		partitions int32
		options    []kgo.Opt
		faults     []string
		duplicates bool
	}{
		"one partition":    {1, nil, nil, false},
		"lost acks":        {1, nil, []string{"disconnect after produce every=3 times=all"}, false},
		"replaced acks":    {1, nil, []string{"error NOT_LEADER_OR_FOLLOWER after produce every=4 times=all", "error REQUEST_TIMED_OUT before produce every=5 times=all"}, false},
		"three partitions": {3, nil, []string{"disconnect after produce every=3 times=all"}, false},
		"no idempotence":   {1, []kgo.Opt{kgo.DisableIdempotentWrite()}, []string{"disconnect after produce every=10 times=all"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := []fencepost.Option{fencepost.Topic("large", int(c.partitions))}
			for _, f := range c.faults {
				options = append(options, fencepost.Fault(f))
			}
			s := newStage(t, options...)
			client := s.client(t, append(append(quick(), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(512<<10)), c.options...)...)
			sent := map[string][]byte{}
			records := largeRecords(s.Seed())
			for _, r := range records {
				sent[string(r.Key)] = r.Value
			}
			if err := client.ProduceSync(patience(t), records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			client.Close()
			s.settle(t)
			read := s.log(t, "large")
			for _, r := range read {
				if !bytes.Equal(r.Value, sent[string(r.Key)]) {
					t.Errorf("%s at offset %d of partition %d is not what was sent", r.Key, r.Offset, r.Partition)
				}
			}
			v := s.verdict(t, "large")
			if c.duplicates {
				if len(read) <= len(sent) || v.Totals.Duplicated == 0 {
					t.Errorf("%d records were read of %d, and the verdict is: %s", len(read), len(sent), v)
				}
				return
			}
			if len(read) != len(sent) || !v.ExactlyOnce {
				t.Errorf("%d records were read of %d, and the verdict is: %s", len(read), len(sent), v)
			}
		})
	}
}
