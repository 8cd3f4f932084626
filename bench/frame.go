package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// produceVersion is the version of Produce that is sent: the first flexible one,
	// and one that goes by topic names, so that frames and answers of all brokers have
	// their fields at the same places.
	produceVersion = 9

	clientID      = "bench"
	lengthBytes   = 4 // before each frame
	correlationAt = lengthBytes + 4
	answerHeader  = lengthBytes + 4 + 1 // length, correlation id, no tags
)

// A frame is a Produce request of one batch for one partition, built once. Before each
// send it is changed in place.
type frame struct {
	bytes       []byte // length included
	batch       []byte // within bytes
	partitionAt int
	records     int32
}

func newFrame(w work, topic string) (*frame, error) {
	batch, err := newBatch(w)
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = produceVersion, w.acks, 30_000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Records: batch}}}}
	f := &frame{bytes: request(req, 0), records: int32(w.records)}
	at := bytes.Index(f.bytes, batch)
	if at < 0 {
		return nil, errors.New("the batch does not stand in its own frame")
	}
	f.batch = f.bytes[at : at+len(batch)]
	f.partitionAt = at - len(kbin.AppendUvarint(nil, uint32(len(batch)+1))) - 4
	return f, nil
}

// stamp makes the frame the next batch of a source.
func (f *frame) stamp(correlation int32, s *source) {
	binary.BigEndian.PutUint32(f.bytes[correlationAt:], uint32(correlation))
	binary.BigEndian.PutUint32(f.bytes[f.partitionAt:], uint32(s.partition))
	binary.BigEndian.PutUint64(f.batch[producerAt:], uint64(s.producer))
	binary.BigEndian.PutUint16(f.batch[epochAt:], uint16(s.epoch))
	binary.BigEndian.PutUint32(f.batch[sequenceAt:], uint32(s.sequence))
	binary.BigEndian.PutUint32(f.batch[crcAt:], crc32.Checksum(f.batch[crcFrom:], castagnoli))
}

// request is a request as it is sent, length included.
func request(req kmsg.Request, correlation int32) []byte {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID)).AppendRequest(nil, req, correlation)
}

// produceAnswer is a whole answer that says that one batch was written.
func produceAnswer(topic string) []byte {
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = produceVersion
	told := kmsg.NewProduceResponseTopicPartition()
	told.LogStartOffset = 0
	resp.Topics = []kmsg.ProduceResponseTopic{{Topic: topic, Partitions: []kmsg.ProduceResponseTopicPartition{told}}}
	return framed(resp.AppendTo(make([]byte, answerHeader)))
}

// framed writes the length of a frame before it, where room was left.
func framed(f []byte) []byte {
	binary.BigEndian.PutUint32(f, uint32(len(f)-lengthBytes))
	return f
}
