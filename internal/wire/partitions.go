package wire

import (
	"iter"
	"reflect"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The messages of Kafka's protocol are alike in shape: Topics holds entries
// with a Topic or a TopicID, and those hold Partitions, each either a number or
// an entry with a Partition. This file goes by that shape, so that no API needs
// a line of its own.

// Partitions goes through the partitions that a request or response names, in
// the order of its body. A message whose topics have no partitions, such as a
// Metadata request, gives each topic with partition -1; one without topics
// gives nothing.
func Partitions(msg any) iter.Seq[TopicPartition] {
	return func(yield func(TopicPartition) bool) {
		eachPartition(structOf(msg), yield)
	}
}

func eachPartition(msg reflect.Value, yield func(TopicPartition) bool) bool {
	for _, list := range topicLists(msg) {
		for i := range list.Len() {
			if !eachOfTopic(list.Index(i), yield) {
				return false
			}
		}
	}
	return true
}

func eachOfTopic(topic reflect.Value, yield func(TopicPartition) bool) bool {
	name := topicName(topic)
	parts := partitionsOf(topic)
	if !parts.IsValid() {
		return yield(TopicPartition{name, -1})
	}
	for i := range parts.Len() {
		if !yield(TopicPartition{name, partitionNumber(parts.Index(i))}) {
			return false
		}
	}
	return true
}

// HasTopics says whether requests of the API with this key name topics, and its
// answers tell an error for each.
func HasTopics(key int16) bool {
	req := kmsg.RequestForKey(key)
	if req == nil || len(topicTypes(structOf(req).Type())) == 0 {
		return false
	}
	return slices.ContainsFunc(topicTypes(structOf(req.ResponseKind()).Type()), tellsErrors)
}

// topicTypes are the types of the topics that a message may hold.
func topicTypes(msg reflect.Type) (types []reflect.Type) {
	for _, f := range topicListFields(msg) {
		types = append(types, f.Type.Elem())
	}
	for _, f := range nestFields(msg) {
		types = append(types, topicTypes(f.Type.Elem())...)
	}
	return types
}

// HasPartitions says whether requests of the API with this key name partitions,
// and its answers tell an error for each.
func HasPartitions(key int16) bool {
	return HasTopics(key) && namesPartitions(structOf(kmsg.RequestForKey(key)).Type())
}

// namesPartitions says whether the topics of a message have partitions.
func namesPartitions(msg reflect.Type) bool {
	return slices.ContainsFunc(topicTypes(msg), func(topic reflect.Type) bool {
		return topic.Kind() == reflect.Struct && len(sliceFields(topic, "Partitions")) > 0
	})
}

// Split makes two requests of one: in has the partitions that match, out the
// others. Either is nil where nothing is left. req itself is not changed.
func Split(req *Request, match func(TopicPartition) bool) (in, out *Request) {
	return part(req, match), part(req, not(match))
}

func part(req *Request, keep func(TopicPartition) bool) *Request {
	body, left := filter(structOf(req.Body), keep)
	if !left {
		return nil
	}
	r := *req
	r.Body = body.Addr().Interface().(kmsg.Request)
	r.Batches, r.answer = nil, nil
	for _, b := range req.Batches {
		if keep(TopicPartition{b.Topic, b.Partition}) {
			r.Batches = append(r.Batches, b)
		}
	}
	return &r
}

func not(match func(TopicPartition) bool) func(TopicPartition) bool {
	return func(tp TopicPartition) bool { return !match(tp) }
}

// Without is a copy of a response that leaves out the partitions that match.
func Without(resp kmsg.Response, match func(TopicPartition) bool) kmsg.Response {
	body, _ := filter(structOf(resp), not(match))
	return body.Addr().Interface().(kmsg.Response)
}

// Merge is a response of the partitions of a and then of b; what stands above
// the topics is a's. A topic of both is listed once, with the partitions of both:
// the Java client takes the last entry of a name for all there is. Either may be
// nil. Neither is changed.
func Merge(a, b kmsg.Response) kmsg.Response {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return merge(structOf(a), structOf(b)).Addr().Interface().(kmsg.Response)
}

// merge is a message, or a nest of one, with the topics of a and then of b.
func merge(a, b reflect.Value) reflect.Value {
	merged := clone(a)
	for _, f := range topicListFields(merged.Type()) {
		list := merged.FieldByIndex(f.Index)
		list.Set(mergeTopics(list, b.FieldByIndex(f.Index)))
	}
	for _, f := range nestFields(merged.Type()) {
		nests := merged.FieldByIndex(f.Index)
		nests.Set(mergeNests(nests, b.FieldByIndex(f.Index)))
	}
	return merged
}

func mergeTopics(a, b reflect.Value) reflect.Value {
	all := reflect.AppendSlice(reflect.MakeSlice(a.Type(), 0, a.Len()+b.Len()), a)
	for i := range b.Len() {
		topic := b.Index(i)
		at := indexTopic(all, topic)
		if at < 0 {
			all = reflect.Append(all, topic)
			continue
		}
		both := clone(all.Index(at))
		parts := partitionsOf(both)
		parts.Set(reflect.AppendSlice(parts.Slice3(0, parts.Len(), parts.Len()), partitionsOf(topic)))
		all.Index(at).Set(both)
	}
	return all
}

// indexTopic finds a topic with partitions that has the same name and id, -1 if
// there is none.
func indexTopic(list, topic reflect.Value) int {
	if !partitionsOf(topic).IsValid() {
		return -1
	}
	for i := range list.Len() {
		if other := list.Index(i); topicName(other) == topicName(topic) && topicID(other) == topicID(topic) {
			return i
		}
	}
	return -1
}

// topicID reads the id of a topic entry, all zeros where there is none.
func topicID(topic reflect.Value) (id [16]byte) {
	if f := topic.FieldByName("TopicID"); f.IsValid() {
		id = f.Interface().([16]byte)
	}
	return id
}

// filter copies a message, keeping only the partitions that keep wants, and
// says whether any is left. Topics that lose all of theirs go too, and so do
// nests; one that never had any, such as an unknown topic in a Metadata answer, is
// asked about with partition -1.
func filter(msg reflect.Value, keep func(TopicPartition) bool) (reflect.Value, bool) {
	c := clone(msg)
	left := false
	for _, f := range topicListFields(c.Type()) {
		left = filterList(c.FieldByIndex(f.Index), func(topic reflect.Value) (reflect.Value, bool) {
			return filterTopic(topic, keep)
		}) || left
	}
	for _, f := range nestFields(c.Type()) {
		left = filterList(c.FieldByIndex(f.Index), func(nest reflect.Value) (reflect.Value, bool) {
			return filterNest(nest, keep)
		}) || left
	}
	return c, left
}

// filterList puts what is left of each entry in the place of a list, and says
// whether anything is.
func filterList(list reflect.Value, part func(reflect.Value) (reflect.Value, bool)) bool {
	kept := reflect.MakeSlice(list.Type(), 0, list.Len())
	for i := range list.Len() {
		if e, ok := part(list.Index(i)); ok {
			kept = reflect.Append(kept, e)
		}
	}
	list.Set(kept)
	return kept.Len() > 0
}

func filterTopic(topic reflect.Value, keep func(TopicPartition) bool) (reflect.Value, bool) {
	name := topicName(topic)
	parts := partitionsOf(topic)
	if !parts.IsValid() || parts.Len() == 0 {
		return topic, keep(TopicPartition{name, -1})
	}
	kept := reflect.MakeSlice(parts.Type(), 0, parts.Len())
	for i := range parts.Len() {
		if p := parts.Index(i); keep(TopicPartition{name, partitionNumber(p)}) {
			kept = reflect.Append(kept, p)
		}
	}
	c := clone(topic)
	c.FieldByName("Partitions").Set(kept)
	return c, kept.Len() > 0
}

// FillTopicNames writes the topic's name beside its id in a request that names
// topics by id only (Produce and Fetch from version 13 on, OffsetCommit
// and OffsetFetch from 10), so that what stands
// further down the chain can go by names. Messages in which a client may choose
// between the two are left as they are.
func FillTopicNames(req kmsg.Request, name func(id [16]byte) string) {
	switch r := req.(type) {
	case *kmsg.ProduceRequest:
		for i := range r.Topics {
			fillName(&r.Topics[i].Topic, r.Topics[i].TopicID, name)
		}
	case *kmsg.FetchRequest:
		for i := range r.Topics {
			fillName(&r.Topics[i].Topic, r.Topics[i].TopicID, name)
		}
	case *kmsg.OffsetCommitRequest:
		for i := range r.Topics {
			fillName(&r.Topics[i].Topic, r.Topics[i].TopicID, name)
		}
	case *kmsg.OffsetFetchRequest:
		for i := range r.Groups {
			for j := range r.Groups[i].Topics {
				t := &r.Groups[i].Topics[j]
				fillName(&t.Topic, t.TopicID, name)
			}
		}
	}
}

func fillName(topic *string, id [16]byte, name func(id [16]byte) string) {
	if *topic == "" && id != [16]byte{} {
		*topic = name(id)
	}
}

func structOf(msg any) reflect.Value { return reflect.ValueOf(msg).Elem() }

// clone is an addressable copy of a struct; slices in it are shared.
func clone(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

// topicListFields finds the fields of a message that hold topics: Topics, and
// in DeleteTopics before version 6 TopicNames, which is a list of strings.
func topicListFields(t reflect.Type) []reflect.StructField {
	return sliceFields(t, "Topics", "TopicNames")
}

// nestFields finds the fields of a message that hold entries with topics of their
// own, such as the groups of an OffsetFetch from version 8 on.
func nestFields(t reflect.Type) (fields []reflect.StructField) {
	for _, f := range sliceFields(t, "Groups", "Transactions") {
		if elem := f.Type.Elem(); elem.Kind() == reflect.Struct && len(topicListFields(elem)) > 0 {
			fields = append(fields, f)
		}
	}
	return fields
}

func sliceFields(t reflect.Type, names ...string) []reflect.StructField {
	var fields []reflect.StructField
	for _, name := range names {
		if f, ok := t.FieldByName(name); ok && f.Type.Kind() == reflect.Slice {
			fields = append(fields, f)
		}
	}
	return fields
}

// topicLists are the lists of topics of a message, those of its nests behind its
// own.
func topicLists(msg reflect.Value) []reflect.Value {
	var lists []reflect.Value
	for _, f := range topicListFields(msg.Type()) {
		lists = append(lists, msg.FieldByIndex(f.Index))
	}
	for _, f := range nestFields(msg.Type()) {
		nests := msg.FieldByIndex(f.Index)
		for i := range nests.Len() {
			lists = append(lists, topicLists(nests.Index(i))...)
		}
	}
	return lists
}

// topicName reads the name of a topic entry, whether a string, a pointer to
// one, or a field Topic of either kind; "" where there is none.
func topicName(topic reflect.Value) string {
	if topic.Kind() == reflect.Struct {
		topic = topic.FieldByName("Topic")
	}
	switch {
	case !topic.IsValid():
		return ""
	case topic.Kind() == reflect.Pointer:
		if topic.IsNil() {
			return ""
		}
		return topic.Elem().String()
	}
	return topic.String()
}

func partitionsOf(topic reflect.Value) reflect.Value {
	if topic.Kind() != reflect.Struct {
		return reflect.Value{}
	}
	return topic.FieldByName("Partitions")
}

func partitionNumber(p reflect.Value) int32 {
	if p.Kind() == reflect.Struct {
		p = p.FieldByName("Partition")
	}
	return int32(p.Int())
}
