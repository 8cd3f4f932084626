package kafka

import (
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A fetched partition is what a Fetch asks of one.
type fetched struct {
	place
	words string
	kmsg.FetchRequestTopicPartition
}

// from reads a partition from an offset on.
func from(at string, offset int64) fetched {
	p := kmsg.NewFetchRequestTopicPartition()
	pl := placeOf(at)
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = pl.partition, offset, 1<<20
	p.CurrentLeaderEpoch, p.LastFetchedEpoch, p.LogStartOffset = -1, -1, -1
	return fetched{pl, fmt.Sprintf("%s from %d", at, offset), p}
}

// but changes what is asked.
func (f fetched) but(what string, change func(p *kmsg.FetchRequestTopicPartition)) fetched {
	f.words += " " + what
	change(&f.FetchRequestTopicPartition)
	return f
}

// upTo limits the bytes of the partition.
func (f fetched) upTo(n int32) fetched {
	return f.but(fmt.Sprintf("up to %d bytes", n), func(p *kmsg.FetchRequestTopicPartition) { p.PartitionMaxBytes = n })
}

// A session is a fetch session of a scene.
type session struct{ id, epoch int32 }

// usualFetch is the last version of Fetch that names topics by name.
const usualFetch = 12

// read is a Fetch that does not wait.
func read(asked ...fetched) step { return fetchIn(usualFetch, nil, asked...) }

// fetchIn is a Fetch in any version; change says what else is asked.
func fetchIn(version int16, change *fetchChange, asked ...fetched) step {
	words := make([]string, len(asked))
	for i, a := range asked {
		words[i] = a.words
	}
	head := fmt.Sprintf("Fetch v%d", version)
	if change != nil {
		head += " " + change.words
	}
	return request(head+" "+strings.Join(words, " | "), func(s *scene) kmsg.Request {
		r := fetchRequest(version, asked)
		if change != nil {
			change.do(s, r)
		}
		return r
	})
}

// A fetchChange is what is said of a Fetch beside its partitions.
type fetchChange struct {
	words string
	do    func(s *scene, r *kmsg.FetchRequest)
}

func fetchRequest(version int16, asked []fetched) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.Version, r.MinBytes, r.MaxBytes, r.SessionEpoch = version, 1, 50<<20, -1
	for _, a := range asked {
		if n := len(r.Topics); n > 0 && r.Topics[n-1].Topic == a.topic {
			r.Topics[n-1].Partitions = append(r.Topics[n-1].Partitions, a.FetchRequestTopicPartition)
			continue
		}
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID = a.topic, idOf(a.topic)
		t.Partitions = append(t.Partitions, a.FetchRequestTopicPartition)
		r.Topics = append(r.Topics, t)
	}
	return r
}

// limited changes a Fetch's limits.
func limited(words string, change func(r *kmsg.FetchRequest)) *fetchChange {
	return &fetchChange{words, func(_ *scene, r *kmsg.FetchRequest) { change(r) }}
}

// begin is a full Fetch that begins a session of this name.
func begin(name string, version int16, asked ...fetched) step {
	st := fetchIn(version, &fetchChange{"begin session " + name, func(_ *scene, r *kmsg.FetchRequest) { r.SessionEpoch = 0 }}, asked...)
	ask := st.play
	st.play = func(s *scene) (kmsg.Response, error) {
		resp, err := ask(s)
		if err == nil {
			s.sessions[name] = &session{resp.(*kmsg.FetchResponse).SessionID, 0}
		}
		return resp, err
	}
	return st
}

// goOn is an incremental Fetch in a session. Its epochs are counted.
func goOn(name string, version int16, asked ...fetched) step {
	return fetchIn(version, &fetchChange{"go on with session " + name, func(s *scene, r *kmsg.FetchRequest) {
		in := s.session(name)
		in.epoch++
		r.SessionID, r.SessionEpoch = in.id, in.epoch
	}}, asked...)
}

func (s *scene) session(name string) *session {
	if in := s.sessions[name]; in != nil {
		return in
	}
	return &session{}
}

// goOnBut is goOn with a change of the request.
func goOnBut(name, what string, version int16, change func(r *kmsg.FetchRequest), asked ...fetched) step {
	return fetchIn(version, &fetchChange{"session " + name + " " + what, func(s *scene, r *kmsg.FetchRequest) {
		in := s.session(name)
		in.epoch++
		r.SessionID, r.SessionEpoch = in.id, in.epoch
		change(r)
	}}, asked...)
}

// forgetting takes partitions out of a session.
func forgetting(places ...string) func(r *kmsg.FetchRequest) {
	return func(r *kmsg.FetchRequest) {
		for _, at := range places {
			p := placeOf(at)
			f := kmsg.NewFetchRequestForgottenTopic()
			f.Topic, f.TopicID, f.Partitions = p.topic, idOf(p.topic), []int32{p.partition}
			r.ForgottenTopics = append(r.ForgottenTopics, f)
		}
	}
}

// An offsetAsked is what a ListOffsets asks of one partition.
type offsetAsked struct {
	place
	words string
	make  func(s *scene) kmsg.ListOffsetsRequestTopicPartition
}

// byTime asks for a special time: -1 latest, -2 earliest and so on.
func byTime(at string, timestamp int64) offsetAsked {
	return offsetIn(placeOf(at), fmt.Sprintf("%s at %d", at, timestamp), func(*scene) int64 { return timestamp })
}

// byBase asks for a time from the script's base on.
func byBase(at string, millis int64) offsetAsked {
	return offsetIn(placeOf(at), fmt.Sprintf("%s at base%+d", at, millis), func(s *scene) int64 { return s.at(millis) })
}

func offsetIn(p place, words string, timestamp func(s *scene) int64) offsetAsked {
	return offsetAsked{p, words, func(s *scene) kmsg.ListOffsetsRequestTopicPartition {
		r := kmsg.NewListOffsetsRequestTopicPartition()
		r.Partition, r.Timestamp, r.CurrentLeaderEpoch = p.partition, timestamp(s), -1
		return r
	}}
}

// believing adds the leader epoch that the client knows.
func (o offsetAsked) believing(epoch int32) offsetAsked {
	ask := o.make
	o.words += fmt.Sprintf(" believing in epoch %d", epoch)
	o.make = func(s *scene) kmsg.ListOffsetsRequestTopicPartition {
		r := ask(s)
		r.CurrentLeaderEpoch = epoch
		return r
	}
	return o
}

// end and start ask where a log ends and where it starts.
func end(at string) step   { return listOffsets(7, byTime(at, -1)) }
func start(at string) step { return listOffsets(7, byTime(at, -2)) }

// listOffsets is a ListOffsets of a consumer that reads uncommitted.
func listOffsets(version int16, asked ...offsetAsked) step {
	return listOffsetsAs(version, "", func(*kmsg.ListOffsetsRequest) {}, asked...)
}

func listOffsetsAs(version int16, who string, change func(r *kmsg.ListOffsetsRequest), asked ...offsetAsked) step {
	words := make([]string, len(asked))
	for i, a := range asked {
		words[i] = a.words
	}
	return request(strings.TrimSpace(fmt.Sprintf("ListOffsets v%d %s", version, who))+" "+strings.Join(words, " | "), func(s *scene) kmsg.Request {
		r := listing(s, version, asked)
		change(r)
		return r
	})
}

func listing(s *scene, version int16, asked []offsetAsked) *kmsg.ListOffsetsRequest {
	r := kmsg.NewPtrListOffsetsRequest()
	r.Version, r.ReplicaID = version, -1
	for _, a := range asked {
		if n := len(r.Topics); n > 0 && r.Topics[n-1].Topic == a.topic {
			r.Topics[n-1].Partitions = append(r.Topics[n-1].Partitions, a.make(s))
			continue
		}
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic, t.Partitions = a.topic, []kmsg.ListOffsetsRequestTopicPartition{a.make(s)}
		r.Topics = append(r.Topics, t)
	}
	return r
}

// trim is a DeleteRecords of one partition; -1 is all.
func trim(at string, offset int64) step { return trimIn(2, trimmed{at, offset}) }

type trimmed struct {
	at     string
	offset int64
}

func trimIn(version int16, asked ...trimmed) step {
	return request(fmt.Sprintf("DeleteRecords v%d %v", version, asked), func(*scene) kmsg.Request { return trimOf(version, asked...) })
}

func trimOf(version int16, asked ...trimmed) *kmsg.DeleteRecordsRequest {
	r := kmsg.NewPtrDeleteRecordsRequest()
	r.Version, r.TimeoutMillis = version, 5000
	for _, a := range asked {
		pl := placeOf(a.at)
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Partition, p.Offset = pl.partition, a.offset
		t := kmsg.NewDeleteRecordsRequestTopic()
		t.Topic, t.Partitions = pl.topic, []kmsg.DeleteRecordsRequestTopicPartition{p}
		r.Topics = append(r.Topics, t)
	}
	return r
}

// epochEnd is an OffsetForLeaderEpoch of a consumer.
func epochEnd(version int16, at string, epoch, believed int32) step {
	words := fmt.Sprintf("OffsetForLeaderEpoch v%d %s epoch %d, believing in %d", version, at, epoch, believed)
	return request(words, func(*scene) kmsg.Request {
		pl := placeOf(at)
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.LeaderEpoch, p.CurrentLeaderEpoch = pl.partition, epoch, believed
		t := kmsg.NewOffsetForLeaderEpochRequestTopic()
		t.Topic, t.Partitions = pl.topic, []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}
		r := kmsg.NewPtrOffsetForLeaderEpochRequest()
		r.Version, r.ReplicaID, r.Topics = version, -1, []kmsg.OffsetForLeaderEpochRequestTopic{t}
		return r
	})
}
