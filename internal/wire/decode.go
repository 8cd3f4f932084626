package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A header is the header of a request.
type header struct {
	key, version int16
	correlation  int32
	client       string
}

// decoding lets one large request be decoded at a time whose arrays may lie, as those of
// a Produce cannot, so that many connections that do so cost no more than one.
var decoding = make(chan struct{}, 1)

// A decoder decodes the requests of one connection. What is alike in most of them is
// kept from one to the next: with one request under way at a time, new memory costs more
// than anything else that is done with it here.
type decoder struct {
	client, topic string // of the last request

	// The last Produce, if it was small.
	produce    kmsg.ProduceRequest
	topics     []kmsg.ProduceRequestTopic
	partitions []kmsg.ProduceRequestTopicPartition
}

// forget ends the use of the last request, which aliases its frame.
func (d *decoder) forget() {
	d.produce = kmsg.ProduceRequest{}
	clear(d.topics)
	clear(d.partitions)
	d.topics, d.partitions = d.topics[:0], d.partitions[:0]
}

// same is text as a string, last itself if that is the same.
func same(last *string, text []byte) string {
	if *last != string(text) {
		*last = string(text)
	}
	return *last
}

// decode reads the header and the body of a frame. An ApiVersions request of a
// version that is not served has no body here: it has to be answered all the
// same, and its body cannot be known.
//
// admit is asked for the memory that a large request takes beside its frame. The request
// is valid until the next one is read, or forget is called.
func (d *decoder) decode(frame []byte, admit func(cost int64) bool) (header, kmsg.Request, *failure) {
	r := kbin.Reader{Src: frame}
	h := header{key: r.Int16(), version: r.Int16(), correlation: r.Int32()}
	api, ok := Lookup(h.key)
	if !ok {
		return h, nil, fail(ReasonUnknownAPI, "API key %d is not served", h.key)
	}
	h.client = d.clientID(&r)
	if !r.Ok() {
		return h, nil, fail(ReasonBadHeader, "the request header of %s ends in the middle", api.Name)
	}
	if h.version < api.Min || h.version > api.Max {
		if h.key == int16(kmsg.ApiVersions) {
			return h, nil, nil
		}
		return h, nil, fail(ReasonUnknownVersion, "version %d of %s is not served, only %d to %d", h.version, api.Name, api.Min, api.Max)
	}
	d.forget()
	var req kmsg.Request = &d.produce
	if h.key != int16(kmsg.Produce) {
		req = kmsg.RequestForKey(h.key)
	}
	req.SetVersion(h.version)
	if req.IsFlexible() && !skipTags(&r) {
		return h, nil, fail(ReasonBadHeader, "the tags in the request header of %s cannot be read", api.Name)
	}
	switch err := d.body(req, r.Src, admit); {
	case errors.Is(err, errNoFrameMemory):
		return h, nil, &failure{ReasonNoFrameMemory, err}
	case err != nil:
		return h, nil, fail(ReasonBadBody, "%s version %d: %w", api.Name, h.version, err)
	}
	return h, req, nil
}

// clientID reads the client id of a header, of which MaxClientID bytes are kept: notes
// keep it.
func (d *decoder) clientID(r *kbin.Reader) string {
	n := r.Int16()
	if n < 0 {
		return ""
	}
	id := r.Span(int(n))
	if len(id) > MaxClientID {
		return strings.ToValidUTF8(string(id[:MaxClientID]), "")
	}
	return same(&d.client, id)
}

// skipTags skips the tagged fields of a header, and says whether they could be read.
// There are none, as a rule; to have kmsg look takes memory.
func skipTags(r *kbin.Reader) bool {
	if len(r.Src) > 0 && r.Src[0] == 0 {
		r.Src = r.Src[1:]
		return true
	}
	rest := *r
	kmsg.SkipTags(&rest)
	*r = rest
	return r.Ok()
}

func (d *decoder) body(req kmsg.Request, body []byte, admit func(cost int64) bool) error {
	if req == &d.produce {
		if d.small(body) {
			return nil
		}
		entries, err := countProduce(req.GetVersion(), body)
		if err != nil {
			return err
		}
		if entries > smallProduce && !admit(int64(entries)*entryCost) {
			return errNoFrameMemory
		}
		return req.ReadFrom(body)
	}
	if len(body) > smallRequest && !admit(int64(len(body))*decodedCost) {
		return errNoFrameMemory
	}
	if len(body) > largeDecode {
		decoding <- struct{}{}
		defer func() { <-decoding }()
	}
	return req.ReadFrom(body)
}

// small reads the body of a Produce for smallProduce topics and partitions at most, into
// memory that is kept, and says whether it could. What has tagged fields, and what
// countProduce is to refuse, is left to others.
func (d *decoder) small(body []byte) bool {
	r := &d.produce
	w := walkProduce(r.Version, body)
	id := w.string()
	acks, timeout := w.Int16(), w.Int32()
	for range w.few(smallProduce) {
		d.readTopic(&w)
	}
	w.tags()
	if !w.Ok() || w.tagged > 0 {
		return false
	}
	if id != nil {
		transactional := string(id)
		r.TransactionID = &transactional
	}
	r.Acks, r.TimeoutMillis, r.Topics = acks, timeout, d.topics
	return true
}

// readTopic reads a topic with its partitions behind those that have been read.
func (d *decoder) readTopic(w *produceWalk) {
	var t kmsg.ProduceRequestTopic
	if w.ids {
		t.TopicID = w.Uuid()
	} else {
		name := w.string()
		if name == nil || len(name) > MaxTopicName {
			w.end()
		}
		t.Topic = same(&d.topic, name)
	}
	from := len(d.partitions)
	for range w.few(smallProduce - len(d.topics) - 1 - from) {
		p := kmsg.ProduceRequestTopicPartition{Partition: w.Int32(), Records: w.records()}
		w.tags()
		d.partitions = append(d.partitions, p)
	}
	w.tags()
	t.Partitions = slices.Clip(d.partitions[from:])
	d.topics = append(d.topics, t)
}

// countProduce walks over the body of a Produce request without keeping
// anything, so that no array of topics or partitions is allocated that the
// frame does not hold. It gives how many topics and partitions there are.
func countProduce(version int16, body []byte) (entries int32, err error) {
	w := walkProduce(version, body)
	w.string() // transactional id
	w.Int16()  // acks
	w.Int32()  // timeout
	topics := w.array()
	if topics < 0 || topics > MaxTopics {
		return 0, fmt.Errorf("it names %d topics, and 0 to %d can be", topics, MaxTopics)
	}
	partitions := int32(0)
	for range topics {
		n, name := w.topic()
		if name > MaxTopicName {
			return 0, fmt.Errorf("the name of a topic has %d bytes, and %d are the most", name, MaxTopicName)
		}
		if partitions += n; n < 0 || partitions > MaxPartitions {
			return 0, fmt.Errorf("it names %d partitions of a topic, and 0 to %d can be in all", n, MaxPartitions)
		}
		if !w.Ok() {
			break
		}
	}
	w.tags()
	if w.tagged > MaxTags {
		return 0, fmt.Errorf("it has more than %d tagged fields", MaxTags)
	}
	if !w.Ok() {
		return 0, errors.New("the body ends in the middle, or a length or count in it goes beyond its end")
	}
	return topics + partitions, nil
}

// A produceWalk reads a Produce field by field.
type produceWalk struct {
	kbin.Reader
	flexible bool // compact lengths and tags: version 9 on
	ids      bool // topic ids instead of names: version 13 on
	tagged   int  // tagged fields so far
}

func walkProduce(version int16, body []byte) produceWalk {
	return produceWalk{Reader: kbin.Reader{Src: body}, flexible: version >= 9, ids: version >= 13}
}

// end ends the walk, as what cannot be read does.
func (w *produceWalk) end() { w.Span(-1) }

// topic walks over one topic, counts its partitions, and gives the length of its
// name.
func (w *produceWalk) topic() (partitions int32, name int) {
	if w.ids {
		w.Uuid()
	} else {
		name = len(w.string())
	}
	partitions = w.array()
	for i := int32(0); i < partitions && w.Ok(); i++ {
		w.Int32()
		w.records()
		w.tags()
	}
	w.tags()
	return partitions, name
}

// string reads a string, nil for none.
func (w *produceWalk) string() []byte {
	n := 0
	if w.flexible {
		n = int(w.Uvarint()) - 1
	} else {
		n = int(w.Int16())
	}
	if n < 0 {
		return nil
	}
	return w.Span(n)
}

func (w *produceWalk) records() []byte {
	if w.flexible {
		return w.CompactNullableBytes()
	}
	return w.NullableBytes()
}

// few reads how many entries an array has. More than most, and an array that is null,
// end the walk.
func (w *produceWalk) few(most int) int32 {
	n := w.array()
	if n < 0 || int(n) > most {
		w.end()
		return 0
	}
	return n
}

func (w *produceWalk) array() int32 {
	if w.flexible {
		return w.CompactArrayLen()
	}
	return w.ArrayLen()
}

func (w *produceWalk) tags() {
	if !w.flexible {
		return
	}
	for n := w.Uvarint(); n > 0 && w.Ok(); n-- {
		if w.tagged++; w.tagged > MaxTags {
			w.end()
			return
		}
		w.Uvarint()
		w.Span(int(w.Uvarint()))
	}
}
