package group

import (
	"encoding/binary"
	"slices"
)

// What consumers of the classic protocol say to each other inside of metadata and
// assignments (ConsumerProtocolSubscription.json, ConsumerProtocolAssignment.json).

// An embedded subscription is what a consumer says that it wants and has.
type embedded struct {
	topics []string // sorted
	owns   map[string][]int32
}

// readSubscription reads a consumer's metadata; not ok if it is something else.
func readSubscription(metadata []byte) (said embedded, ok bool) {
	r := reader{left: metadata}
	version, topics := r.subscribed()
	slices.Sort(topics)
	said.topics = slices.Compact(topics)
	if version < 1 || r.bad {
		return said, !r.bad
	}
	if n := r.length(); n > 0 {
		r.take(n) // user data
	}
	said.owns = r.partitions()
	return said, !r.bad
}

// owned is what a consumer says that it reads.
func (e embedded) owned(topics *Topics) []TopicPartition {
	return sorted(e.owns, topics)
}

// sorted lists partitions of topics that exist, never nil.
func sorted(partitions map[string][]int32, topics *Topics) []TopicPartition {
	all := set{}
	for name, numbers := range partitions {
		if t, ok := topics.byName[name]; ok {
			for _, n := range numbers {
				all[TopicPartition{t.ID, n}] = true
			}
		}
	}
	return all.sorted()
}

// readAssignment reads what a consumer was assigned; not ok if it is something
// else. No bytes at all are no partitions.
func readAssignment(assignment []byte, topics *Topics) (set, bool) {
	if len(assignment) == 0 {
		return set{}, true
	}
	r := reader{left: assignment}
	r.short()
	partitions := r.partitions()
	return setOf(sorted(partitions, topics)), !r.bad
}

// writeAssignment tells a consumer what it is assigned.
func writeAssignment(assigned set, topics *Topics, version uint16) []byte {
	byTopic := map[string][]int32{}
	var order []string
	for _, p := range assigned.sorted() {
		name, ok := topics.names[p.TopicID]
		if !ok {
			continue
		}
		if byTopic[name] == nil {
			order = append(order, name)
		}
		byTopic[name] = append(byTopic[name], p.Number)
	}
	b := binary.BigEndian.AppendUint16(nil, version)
	b = binary.BigEndian.AppendUint32(b, uint32(len(order)))
	for _, name := range order {
		b = binary.BigEndian.AppendUint16(b, uint16(len(name)))
		b = append(b, name...)
		b = binary.BigEndian.AppendUint32(b, uint32(len(byTopic[name])))
		for _, n := range byTopic[name] {
			b = binary.BigEndian.AppendUint32(b, uint32(n))
		}
	}
	return binary.BigEndian.AppendUint32(b, 0xffffffff) // no user data
}

// versionOf is the version of a consumer's metadata, which its assignment has as
// well.
func versionOf(metadata []byte) uint16 {
	r := reader{left: metadata}
	return uint16(r.short())
}
