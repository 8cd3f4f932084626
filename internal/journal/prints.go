package journal

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// A print stands for a record: equal records have equal prints, and among five
// million different ones the chance that any two agree is below one in a
// million.
type print struct {
	content uint64 // of key, value and headers
	dated   uint64 // of the content and the timestamp
}

// printSeed is drawn anew for each process: a client cannot choose records
// whose prints agree.
var printSeed = maphash.MakeSeed()

// A printer makes prints. One goroutine at a time may use it.
type printer struct {
	hash    maphash.Hash
	scratch [binary.MaxVarintLen64]byte
}

func newPrinter() *printer {
	p := new(printer)
	p.hash.SetSeed(printSeed)
	return p
}

// content hashes key, value and headers, with their lengths, so that no two
// records give the same bytes.
func (p *printer) content(r *wire.Record) uint64 {
	p.hash.Reset()
	p.write(r.Key)
	p.write(r.Value)
	for i := range r.Headers {
		p.length(int64(len(r.Headers[i].Key)))
		p.hash.WriteString(r.Headers[i].Key)
		p.write(r.Headers[i].Value)
	}
	return p.hash.Sum64()
}

// write adds a field; null is not the same as empty.
func (p *printer) write(field []byte) {
	if field == nil {
		p.length(-1)
		return
	}
	p.length(int64(len(field)))
	p.hash.Write(field)
}

func (p *printer) length(n int64) {
	p.hash.Write(binary.AppendVarint(p.scratch[:0], n))
}

// dated is the print of a record's content and timestamp.
func dated(content uint64, timestamp int64) uint64 {
	return mix(content, uint64(timestamp))
}

// ranked is the print of the nth record of this content in one batch, counted
// from 0. A batch that holds equal records was written so on purpose: only the
// nth of one batch and the nth of another can be the same record.
func ranked(content uint64, nth int) uint64 {
	if nth == 0 {
		return content
	}
	return mix(content, uint64(nth)<<1|1)
}

// mix is a hash of two numbers, of which the first is a hash already: both are
// multiplied to 128 bits, which are folded into one half.
func mix(a, b uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio
	high, low := bits.Mul64(a^odd, b+odd)
	return high ^ low
}

// print makes both prints.
func (p *printer) print(r *wire.Record) print {
	content := p.content(r)
	return print{content: content, dated: dated(content, r.Created)}
}

// prints makes those of all records of a batch as a client sent it.
func (p *printer) prints(raw []byte) (all []print, first string, err error) {
	err = wire.ScanRecords(raw, wire.MaxDecompressed, func(r wire.Record) error {
		if len(all) == 0 {
			first = labelOf(IdentityNone, &r)
		}
		all = append(all, p.print(&r))
		return nil
	})
	return all, first, err
}

// hashBytes hashes bytes that are no record.
func hashBytes(b []byte) uint64 { return maphash.Bytes(printSeed, b) }
