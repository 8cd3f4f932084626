package wire

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Marker builds the control batch that ends a transaction in one partition, as
// KIP-98 has it (EndTransactionMarker and ControlRecordType in Kafka): one
// record, whose key says commit or abort. The timestamp is in milliseconds since
// 1970.
func Marker(producerID int64, epoch int16, commit bool, timestamp int64) CheckedBatch {
	key := kmsg.ControlRecordKey{Type: kmsg.ControlRecordKeyTypeAbort}
	if commit {
		key.Type = kmsg.ControlRecordKeyTypeCommit
	}
	var value kmsg.EndTxnMarker // the coordinator's epoch is 0
	b := kmsg.RecordBatch{
		Magic: 2, PartitionLeaderEpoch: -1, Attributes: transactionalBit | controlBit,
		FirstTimestamp: timestamp, MaxTimestamp: timestamp,
		ProducerID: producerID, ProducerEpoch: epoch, FirstSequence: -1,
		NumRecords: 1, Records: onlyRecord(key.AppendTo(nil), value.AppendTo(nil)),
	}
	b.Length = int32(batchOverhead - batchPrefix + len(b.Records))
	raw := b.AppendTo(nil)
	b.CRC = int32(crc32.Checksum(raw[crcFrom:], castagnoli))
	binary.BigEndian.PutUint32(raw[crcAt:], uint32(b.CRC))
	return CheckedBatch{RecordBatch: b, Raw: raw}
}

// onlyRecord is the first record of a batch, with the batch's own timestamp.
func onlyRecord(key, value []byte) []byte {
	body := []byte{0, 0, 0} // attributes, timestamp delta, offset delta
	body = kbin.AppendVarintBytes(body, key)
	body = kbin.AppendVarintBytes(body, value)
	body = kbin.AppendVarint(body, 0) // headers
	return append(kbin.AppendVarint(nil, int32(len(body))), body...)
}
