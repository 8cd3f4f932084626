package kafka

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// natural is what differs between two brokers by nature, by the name of the field:
// how it is shown instead, "" for not at all, and why.
var natural = map[string]struct {
	as     func(s *scene, v reflect.Value) string
	reason string
}{
	"ThrottleMillis":         {leftOut, "how busy a broker is"},
	"ClusterID":              {anyText, "drawn when a cluster is made"},
	"Host":                   {anyText, "where the broker runs"},
	"Port":                   {anyPort, "where the broker runs"},
	"FinalizedFeaturesEpoch": {leftOut, "how often a cluster's features were changed"},
	"TopicID":                {(*scene).showID, "drawn when a topic is made"},
	"ProducerID":             {(*scene).showProducer, "given out one by one"},
	"SessionID":              {anyNumber, "drawn when a session begins"},
	"Timestamp":              {(*scene).showTime, "the time of day"},
	"LastTimestamp":          {(*scene).showTime, "the time of day"},
	"LogAppendTime":          {(*scene).showTime, "the time of day"},
	"FirstTimestamp":         {(*scene).showTime, "the time of day"},
	"MaxTimestamp":           {(*scene).showTime, "the time of day"},
	"Dir":                    {anyText, "where the broker keeps its data"},
	"TotalBytes":             {anyNumber, "how large the disk is"},
	"UsableBytes":            {anyNumber, "how full the disk is"},
	"MemberID":               {(*scene).showMember, "drawn when a member joins"},
	"LeaderID":               {(*scene).showLeader, "drawn when a member joins; the number of a node is told"},
	"ClientHost":             {anyText, "where the client runs"},
	"ProtocolMetadata":       {(*scene).showText, "holds names of topics"},
	"MemberAssignment":       {(*scene).showText, "holds names of topics"},
	"CoordinatorEpoch":       {anyEpoch, "how often the coordinator moved"},
	"Partitions":             {inOrder, "listed in no order"},
	"SubscribedTopics":       {byName, "listed in no order"},
	"StartTimestamp":         {(*scene).showTime, "the time of day"},
}

func leftOut(*scene, reflect.Value) string { return "" }

func anyText(_ *scene, v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "null"
		}
		v = v.Elem()
	}
	if v.String() == "" {
		return `""`
	}
	return "(any)"
}

func anyPort(_ *scene, v reflect.Value) string {
	if v.Int() > 0 {
		return "(any)"
	}
	return strconv.FormatInt(v.Int(), 10)
}

// anyEpoch tells whether there is an epoch, which begins at 0.
func anyEpoch(_ *scene, v reflect.Value) string {
	if v.Int() >= 0 {
		return "(any)"
	}
	return strconv.FormatInt(v.Int(), 10)
}

// inOrder shows the partitions of a list that is no list of structs.
func inOrder(s *scene, v reflect.Value) string {
	numbers := slices.Sorted(slices.Values(v.Interface().([]int32)))
	return s.show("", reflect.ValueOf(numbers))
}

// byName shows a list of names.
func byName(s *scene, v reflect.Value) string {
	return s.show("", reflect.ValueOf(slices.Sorted(slices.Values(v.Interface().([]string)))))
}

func anyNumber(_ *scene, v reflect.Value) string {
	if v.Int() > 0 {
		return "(any)"
	}
	return strconv.FormatInt(v.Int(), 10)
}

// showID tells an id by the topic's name.
func (s *scene) showID(v reflect.Value) string {
	id := v.Interface().([16]byte)
	if id == madeUp {
		return "(made up)"
	}
	for alias, known := range s.topics {
		if known == id {
			return fmt.Sprintf("(id of %s)", alias)
		}
	}
	return "(any)"
}

// showProducer tells a producer id by its name in the script.
func (s *scene) showProducer(v reflect.Value) string {
	for name, p := range s.producers {
		if p.id == v.Int() {
			return "(" + name + ")"
		}
	}
	if v.Int() < firstGiven || v.Int() >= madeUpProducers {
		return strconv.FormatInt(v.Int(), 10)
	}
	return "(new)"
}

// Producer ids that scripts make up are not those that brokers give out first.
const (
	firstGiven      = 0
	madeUpProducers = 1 << 40
)

// clockTolerance is how far a broker's time of now may be from that of the test.
const clockTolerance = 10 * time.Minute

// showTime tells a time by the script's base, or that it is the time of now.
func (s *scene) showTime(v reflect.Value) string {
	t := time.UnixMilli(v.Int())
	switch d := t.Sub(s.base); {
	case v.Int() < 0:
		return strconv.FormatInt(v.Int(), 10)
	case time.Since(t).Abs() < clockTolerance:
		return "(now)"
	case d.Abs() < 24*time.Hour:
		return fmt.Sprintf("(base%+d)", d.Milliseconds())
	}
	return strconv.FormatInt(v.Int(), 10)
}

// sorted gives the indices of a list in the order of what its entries are about.
func (f *flattener) sorted(v reflect.Value) []int {
	order := make([]int, v.Len())
	text := make([]string, v.Len())
	for i := range order {
		order[i] = i
		_, text[i] = f.key(v.Index(i), i)
		if p := v.Index(i).FieldByName("Partition"); p.IsValid() {
			text[i] = fmt.Sprintf("%020d", p.Int()+1<<40)
		}
		if k := v.Index(i).FieldByName("ApiKey"); k.IsValid() {
			text[i] = fmt.Sprintf("%05d", k.Int())
		}
		if k := v.Index(i).FieldByName("InstanceID"); k.IsValid() { // of members that are all new
			text[i] += f.scene.show("InstanceID", k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(text[a], text[b]) })
	return order
}

// at is a time that is counted from the script's base.
func (s *scene) at(millis int64) int64 { return s.base.UnixMilli() + millis }
