package broker

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepostmq/fencepost/internal/txn"
	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// producerOf asks for the producer of a transactional id.
func (c *client) producerOf(id string) txn.Producer {
	c.t.Helper()
	got := c.identify(latestInit, id, unclaimed)
	if got.Code != "NONE" {
		c.t.Fatalf("asking for the producer of %q: %s", id, got.Code)
	}
	return txn.Producer{ID: got.ID, Epoch: got.Epoch}
}

// addingTo makes an AddPartitionsToTxn request for one partition.
func addingTo(id string, p txn.Producer, version int16, topic string, partitions ...int32) *kmsg.AddPartitionsToTxnRequest {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version = version
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = id, p.ID, p.Epoch
	req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: topic, Partitions: partitions}}
	batched := kmsg.NewAddPartitionsToTxnRequestTransaction()
	batched.TransactionalID, batched.ProducerID, batched.ProducerEpoch = id, p.ID, p.Epoch
	batched.Topics = []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: topic, Partitions: partitions}}
	req.Transactions = append(req.Transactions, batched)
	return req
}

// addedTo lists the codes of an AddPartitionsToTxn answer.
func addedTo(resp kmsg.Response) (codes []string) {
	r := resp.(*kmsg.AddPartitionsToTxnResponse)
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			codes = append(codes, codeName(p.ErrorCode))
		}
	}
	for _, x := range r.Transactions {
		for _, t := range x.Topics {
			for _, p := range t.Partitions {
				codes = append(codes, codeName(p.ErrorCode))
			}
		}
	}
	return codes
}

func endingTxn(id string, p txn.Producer, version int16, commit bool) *kmsg.EndTxnRequest {
	req := kmsg.NewPtrEndTxnRequest()
	req.Version = version
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = id, p.ID, p.Epoch, commit
	return req
}

// end ends a transaction as clients did before KIP-890.
func (c *client) endTxn(id string, p txn.Producer, commit bool) {
	c.t.Helper()
	wantCode(c.t, c.ask(endingTxn(id, p, 3, commit)).(*kmsg.EndTxnResponse).ErrorCode, "NONE")
}

// inTxn makes a batch part of a transaction.
func (d *draft) inTxn() *draft {
	d.Attributes |= 1 << 4
	return d
}

// produceTxn sends one batch in a request with a transactional id.
func (c *client) produceTxn(version int16, id, topic string, partition int32, d *draft) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	req := c.producing(version, -1, entry{topic, partition, d.bytes()})
	req.TransactionID = &id
	return onlyProduced(c.t, c.ask(req))
}

// A sight is what a reader of committed records sees of a partition.
type sight struct {
	End, Stable int64
	Offsets     []int64 // base offsets of the batches
	Aborted     []string
}

// committed reads a partition from an offset on.
func (c *client) committed(topic string, partition int32, offset int64) sight {
	c.t.Helper()
	req := c.fetching(fetchVersion, from(topic, partition, offset))
	req.IsolationLevel = 1
	told := fetchedFrom(c.ask(req))[0]
	wantCode(c.t, told.ErrorCode, "NONE")
	s := sight{End: told.HighWatermark, Stable: told.LastStableOffset, Offsets: offsetsIn(told.RecordBatches)}
	if told.AbortedTransactions == nil {
		c.t.Error("the list of aborted transactions is null")
	}
	for _, a := range told.AbortedTransactions {
		s.Aborted = append(s.Aborted, fmt.Sprintf("%d from %d", a.ProducerID, a.FirstOffset))
	}
	return s
}

// markerAt says what the control batch at an offset marks.
func (c *client) markerAt(topic string, partition int32, offset int64) string {
	c.t.Helper()
	whole, _ := batchesIn(c.fetch(topic, partition, offset).RecordBatches)
	if len(whole) == 0 {
		c.t.Fatalf("there is no batch at offset %d", offset)
	}
	h, bad := wire.ParseBatchHeader(whole[0])
	if bad != nil || h.Attributes != 0x30 {
		c.t.Fatalf("the batch at offset %d is no marker: attributes %x, %v", offset, h.Attributes, bad)
	}
	var key kmsg.ControlRecordKey
	err := wire.EachRecord(whole[0], wire.MaxDecompressed, func(r wire.Record) error { return key.ReadFrom(r.Key) })
	if err != nil {
		c.t.Fatal(err)
	}
	kind := map[kmsg.ControlRecordKeyType]string{kmsg.ControlRecordKeyTypeAbort: "abort", kmsg.ControlRecordKeyTypeCommit: "commit"}[key.Type]
	return fmt.Sprintf("%s by %d epoch %d", kind, h.ProducerID, h.ProducerEpoch)
}

const txnPID = firstProducerID

func TestTxn_a_reader_of_committed_records_waits_for_the_end(t *testing.T) {
	for _, tt := range []struct {
		name    string
		commit  bool
		marker  string
		aborted []string
	}{
		{"commit", true, "commit by 1000 epoch 0", nil},
		{"abort", false, "abort by 1000 epoch 0", []string{"1000 from 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, c := startWith(t, "there")
			c.store("there", 0, plain(1))
			p := c.producerOf("tx")
			want(t, "adding", addedTo(c.ask(addingTo("tx", p, 3, "there", 0))), []string{"NONE"})
			wantCode(t, c.produceTxn(9, "tx", "there", 0, by(p.ID, 0, 0, 2).inTxn()).ErrorCode, "NONE")
			c.store("there", 0, plain(1))
			want(t, "while it is open", c.committed("there", 0, 0), sight{End: 4, Stable: 1, Offsets: []int64{0}})
			want(t, "from the stable offset", c.committed("there", 0, 1), sight{End: 4, Stable: 1})
			want(t, "beyond it", c.committed("there", 0, 3), sight{End: 4, Stable: 1})
			want(t, "its start", c.describe("there", 0).ActiveProducers[0].CurrentTxnStartOffset, 1)

			c.endTxn("tx", p, tt.commit)
			want(t, "afterwards", c.committed("there", 0, 0), sight{End: 5, Stable: 5, Offsets: []int64{0, 1, 3, 4}, Aborted: tt.aborted})
			want(t, "the marker", c.markerAt("there", 0, 4), tt.marker)
			want(t, "its start", c.describe("there", 0).ActiveProducers[0].CurrentTxnStartOffset, -1)
			want(t, "behind the aborted records", c.committed("there", 0, 4).Aborted, tt.aborted)
			want(t, "behind the marker", c.committed("there", 0, 5), sight{End: 5, Stable: 5})
		})
	}
}

func TestTxn_who_may_write(t *testing.T) {
	for _, tt := range []struct {
		name    string
		version int16
		id      string
		batch   func(p txn.Producer) *draft
		want    string
	}{
		{"not before it was added", 10, "tx", func(p txn.Producer) *draft { return by(p.ID, p.Epoch, 0, 1).inTxn() }, "INVALID_TXN_STATE"},
		{"not before it was added, which the client may abort", 11, "tx", func(p txn.Producer) *draft { return by(p.ID, p.Epoch, 0, 1).inTxn() }, "TRANSACTION_ABORTABLE"},
		{"from version 12 on the batch adds it", 12, "tx", func(p txn.Producer) *draft { return by(p.ID, p.Epoch, 0, 1).inTxn() }, "NONE"},
		{"not an id that nobody has", 12, "nobody", func(p txn.Producer) *draft { return by(p.ID, p.Epoch, 0, 1).inTxn() }, "INVALID_PRODUCER_ID_MAPPING"},
		{"not another producer", 12, "tx", func(p txn.Producer) *draft { return by(p.ID+1, p.Epoch, 0, 1).inTxn() }, "INVALID_PRODUCER_ID_MAPPING"},
		{"not an older epoch", 12, "tx", func(p txn.Producer) *draft { return by(p.ID, p.Epoch-1, 0, 1).inTxn() }, "INVALID_PRODUCER_EPOCH"},
		{"not a newer epoch", 12, "tx", func(p txn.Producer) *draft { return by(p.ID, p.Epoch+1, 0, 1).inTxn() }, "INVALID_PRODUCER_EPOCH"},
		{"a batch without a transaction is stored as it is", 9, "tx", func(p txn.Producer) *draft { return by(p.ID, p.Epoch, 0, 1) }, "NONE"},
		{"so is one without a producer", 9, "tx", func(txn.Producer) *draft { return plain(1).inTxn() }, "NONE"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, c := startWith(t, "there")
			c.producerOf("tx")
			p := c.producerOf("tx") // epoch 1
			told := c.produceTxn(tt.version, tt.id, "there", 0, tt.batch(p))
			wantCode(t, told.ErrorCode, tt.want)
			stored := int64(0)
			if tt.want == "NONE" {
				stored = 1
			}
			want(t, "records", c.end("there", 0), stored)
		})
	}
}

func TestTxn_a_producer_writes_nothing_else_while_one_is_open(t *testing.T) {
	_, c := startWith(t, "there")
	p := c.producerOf("tx")
	wantCode(t, c.produceTxn(12, "tx", "there", 0, by(p.ID, 0, 0, 1).inTxn()).ErrorCode, "NONE")
	wantCode(t, c.produce("there", 0, by(p.ID, 0, 1, 1)).ErrorCode, "INVALID_TXN_STATE")
	wantCode(t, c.produceTxn(3, "tx", "there", 0, by(p.ID, 0, 1, 1).inTxn()).ErrorCode, "NONE") // of any version
	want(t, "records", c.end("there", 0), 2)
}

func TestTxn_sequences(t *testing.T) {
	t.Run("go on under the same epoch", func(t *testing.T) {
		_, c := startWith(t, "there")
		p := c.producerOf("tx")
		c.produceTxn(12, "tx", "there", 0, by(p.ID, 0, 0, 2).inTxn())
		c.endTxn("tx", p, true)
		replay := c.produceTxn(12, "tx", "there", 0, by(p.ID, 0, 0, 2).inTxn())
		want(t, "a replay", []int64{int64(replay.ErrorCode), replay.BaseOffset}, []int64{0, 0})
		want(t, "the next", c.produceTxn(12, "tx", "there", 0, by(p.ID, 0, 2, 1).inTxn()).BaseOffset, 3)
	})
	t.Run("begin at 0 under the epoch that the end brought", func(t *testing.T) {
		_, c := startWith(t, "there")
		p := c.producerOf("tx")
		c.produceTxn(12, "tx", "there", 0, by(p.ID, 0, 0, 2).inTxn())
		ended := c.ask(endingTxn("tx", p, 5, true)).(*kmsg.EndTxnResponse)
		want(t, "told", []int64{int64(ended.ErrorCode), ended.ProducerID, int64(ended.ProducerEpoch)}, []int64{0, p.ID, 1})
		want(t, "the marker", c.markerAt("there", 0, 2), "commit by 1000 epoch 1")
		wantCode(t, c.produceTxn(12, "tx", "there", 0, by(p.ID, 1, 2, 1).inTxn()).ErrorCode, "OUT_OF_ORDER_SEQUENCE_NUMBER")
		wantCode(t, c.produceTxn(12, "tx", "there", 0, by(p.ID, 1, 0, 1).inTxn()).ErrorCode, "NONE")
	})
}

func TestTxn_each_partition_gets_one_marker(t *testing.T) {
	n, c := startWith(t, "there", "gone")
	p := c.producerOf("tx")
	c.ask(addingTo("tx", p, 3, "there", 0, 1))
	c.ask(addingTo("tx", p, 3, "there", 1))
	c.ask(addingTo("tx", p, 3, "gone", 0))
	c.produceTxn(9, "tx", "there", 1, by(p.ID, 0, 0, 1).inTxn())
	c.ask(deleting(newest(t, kmsg.DeleteTopics), "gone"))
	n.make("gone", 1, nil)
	c.endTxn("tx", p, true)
	want(t, "ends", []int64{c.end("there", 0), c.end("there", 1), c.end("gone", 0)}, []int64{1, 2, 0})
	want(t, "the producer of a partition that it never wrote", c.describe("there", 0).ActiveProducers[0].LastSequence, -1)
}

func TestAddPartitionsToTxn(t *testing.T) {
	for _, tt := range []struct {
		name string
		ask  func(p txn.Producer) *kmsg.AddPartitionsToTxnRequest
		want []string
	}{
		{"a partition that does not exist takes the others along", func(p txn.Producer) *kmsg.AddPartitionsToTxnRequest {
			return addingTo("tx", p, 3, "there", 0, 7)
		}, []string{"OPERATION_NOT_ATTEMPTED", "UNKNOWN_TOPIC_OR_PARTITION"}},
		{"an older epoch", func(p txn.Producer) *kmsg.AddPartitionsToTxnRequest {
			return addingTo("tx", txn.Producer{ID: p.ID, Epoch: 0}, 3, "there", 0)
		}, []string{"PRODUCER_FENCED"}},
		{"an older epoch, before there was a word for it", func(p txn.Producer) *kmsg.AddPartitionsToTxnRequest {
			return addingTo("tx", txn.Producer{ID: p.ID, Epoch: 0}, 1, "there", 0)
		}, []string{"INVALID_PRODUCER_EPOCH"}},
		{"another producer", func(p txn.Producer) *kmsg.AddPartitionsToTxnRequest {
			return addingTo("tx", txn.Producer{ID: 5, Epoch: 1}, 3, "there", 0)
		}, []string{"INVALID_PRODUCER_ID_MAPPING"}},
		{"an empty id", func(p txn.Producer) *kmsg.AddPartitionsToTxnRequest {
			return addingTo("", p, 3, "there", 0)
		}, []string{"INVALID_REQUEST"}},
		{"whether it was added, when it was not", func(p txn.Producer) *kmsg.AddPartitionsToTxnRequest {
			req := addingTo("tx", p, 4, "there", 0)
			req.Transactions[0].VerifyOnly = true
			return req
		}, []string{"TRANSACTION_ABORTABLE"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, c := startWith(t, "there")
			c.producerOf("tx")
			p := c.producerOf("tx")
			want(t, "codes", addedTo(c.ask(tt.ask(p))), tt.want)
			want(t, "the transaction", n.txns.table.Lookup("tx").State, txn.Empty)
		})
	}
}

func TestInitProducerID_a_new_life_aborts_what_the_old_one_left_open(t *testing.T) {
	_, c := startWith(t, "there")
	old := c.producerOf("tx")
	c.produceTxn(12, "tx", "there", 0, by(old.ID, 0, 0, 2).inTxn())
	want(t, "the new life", c.producerOf("tx"), txn.Producer{ID: old.ID, Epoch: 2})
	want(t, "the marker", c.markerAt("there", 0, 2), "abort by 1000 epoch 1")
	want(t, "what is read", c.committed("there", 0, 0), sight{End: 3, Stable: 3, Offsets: []int64{0, 2}, Aborted: []string{"1000 from 0"}})
	wantCode(t, c.produceTxn(12, "tx", "there", 0, by(old.ID, 0, 2, 1).inTxn()).ErrorCode, "INVALID_PRODUCER_EPOCH")
	wantCode(t, c.ask(endingTxn("tx", old, 3, true)).(*kmsg.EndTxnResponse).ErrorCode, "PRODUCER_FENCED")
}

func TestTxn_one_that_is_forgotten_is_aborted_in_time(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := startWith(t, "there")
		req := identifying(latestInit, kmsg.StringPtr("tx"))
		req.TransactionTimeoutMillis = 1000
		c.ask(req)
		p := txn.Producer{ID: txnPID}
		c.produceTxn(12, "tx", "there", 0, by(p.ID, 0, 0, 1).inTxn())
		began := time.Now()
		waits := c.fetching(fetchVersion, from("there", 0, 1))
		waits.MinBytes, waits.MaxWaitMillis = 1, 60_000
		c.ask(waits) // the marker wakes it
		want(t, "after", time.Since(began), time.Second)
		want(t, "the marker", c.markerAt("there", 0, 1), "abort by 1000 epoch 1")
		wantCode(t, c.ask(endingTxn("tx", p, 3, true)).(*kmsg.EndTxnResponse).ErrorCode, "PRODUCER_FENCED")
	})
}

func addingOffsets(id string, p txn.Producer, group string) *kmsg.AddOffsetsToTxnRequest {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = id, p.ID, p.Epoch, group
	return req
}

// committingIn makes a TxnOffsetCommit of one offset by nobody of the group.
func (c *client) committingIn(id string, p txn.Producer, version int16, group, topic string, partition int32, offset int64) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = version, id, p.ID, p.Epoch, group
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic, t.TopicID = topic, c.idOf(topic)
	from := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	from.Partition, from.Offset = partition, offset
	t.Partitions = append(t.Partitions, from)
	req.Topics = append(req.Topics, t)
	return req
}

// committedOffset is what a group has committed, -1 for nothing.
func (c *client) committedOffset(group, topic string, partition int32) int64 {
	c.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group = 7, group
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: []int32{partition}}}
	return c.ask(req).(*kmsg.OffsetFetchResponse).Topics[0].Partitions[0].Offset
}

func TestTxnOffsetCommit_offsets_count_from_the_commit_on(t *testing.T) {
	for _, tt := range []struct {
		name   string
		commit bool
		want   int64
	}{{"commit", true, 5}, {"abort", false, -1}} {
		t.Run(tt.name, func(t *testing.T) {
			n, c := startWith(t, "there")
			p := c.producerOf("tx")
			wantCode(t, c.ask(addingOffsets("tx", p, "g")).(*kmsg.AddOffsetsToTxnResponse).ErrorCode, "NONE")
			c.ask(c.committingIn("tx", p, 3, "g", "there", 0, 5))
			want(t, "while it is open", c.committedOffset("g", "there", 0), -1)
			c.endTxn("tx", p, tt.commit)
			want(t, "afterwards", c.committedOffset("g", "there", 0), tt.want)
			want(t, "what was written, and memory that is in use", []int64{c.end("there", 0), n.memory.used.Load()}, []int64{0, 0})
		})
	}
}

func TestTxnOffsetCommit_who_may(t *testing.T) {
	for _, tt := range []struct {
		name    string
		version int16
		id      string
		epoch   int16
		want    string
	}{
		{"not before it was added", 3, "tx", 1, "INVALID_TXN_STATE"},
		{"not before it was added, which the client may abort", 4, "tx", 1, "TRANSACTION_ABORTABLE"},
		{"from version 5 on it is added", 5, "tx", 1, "NONE"},
		{"not an older epoch", 5, "tx", 0, "INVALID_PRODUCER_EPOCH"},
		{"not an id that nobody has", 5, "nobody", 1, "INVALID_PRODUCER_ID_MAPPING"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, c := startWith(t, "there")
			c.producerOf("tx")
			p := c.producerOf("tx") // epoch 1
			p.Epoch = tt.epoch
			resp := c.ask(c.committingIn(tt.id, p, tt.version, "g", "there", 0, 5)).(*kmsg.TxnOffsetCommitResponse)
			wantCode(t, resp.Topics[0].Partitions[0].ErrorCode, tt.want)
		})
	}
}
