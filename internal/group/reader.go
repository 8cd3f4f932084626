package group

import "encoding/binary"

// A reader takes a message apart. Once it meets the end it is bad, and gives
// nothing more.
type reader struct {
	left []byte
	bad  bool
}

// take gives the next n bytes.
func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.left) {
		r.bad = true
		return nil
	}
	taken := r.left[:n]
	r.left = r.left[n:]
	return taken
}

func (r *reader) short() int {
	if b := r.take(2); b != nil {
		return int(int16(binary.BigEndian.Uint16(b)))
	}
	return 0
}

// count reads how many things follow, of at least so many bytes each: more than
// there can be are none.
func (r *reader) count(least int) int {
	n := r.length()
	if n < 0 || n > len(r.left)/least {
		r.bad = true
		return 0
	}
	return n
}

// length reads an int32.
func (r *reader) length() int {
	if b := r.take(4); b != nil {
		return int(int32(binary.BigEndian.Uint32(b)))
	}
	return 0
}

// subscribed reads how a consumer's metadata begins in every version: the version,
// and the topics that it wants.
func (r *reader) subscribed() (version int, topics []string) {
	version = r.short()
	for range r.count(2) {
		topics = append(topics, string(r.take(r.short())))
	}
	return version, topics
}

// partitions reads topics with their partitions.
func (r *reader) partitions() map[string][]int32 {
	all := map[string][]int32{}
	for range r.count(6) {
		name := string(r.take(r.short()))
		for range r.count(4) {
			all[name] = append(all[name], int32(r.length()))
		}
	}
	return all
}
