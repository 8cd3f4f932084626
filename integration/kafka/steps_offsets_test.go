package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commit is an OffsetCommit of a member; "" is a client in no group.
func commit(version int16, group, name string, tweaks ...tweak) step {
	said := words("OffsetCommit v%d %q", version, group)
	if name != "" {
		said += " as " + name
	}
	return asking(said, tweaks, func(s *scene) kmsg.Request {
		r := kmsg.NewPtrOffsetCommitRequest()
		m := s.member(name)
		r.Version, r.Group, r.MemberID, r.Generation, r.RetentionTimeMillis = version, group, m.id, m.generation, -1
		return r
	})
}

// offset commits an offset, without anything beside it.
func offset(at string, n int64) tweak { return offsetOf(at, n, -1, nil) }

// offsetBeside commits an offset with metadata.
func offsetBeside(at string, n int64, metadata string) tweak { return offsetOf(at, n, -1, &metadata) }

func offsetOf(at string, n int64, epoch int32, metadata *string) tweak {
	said := words("%s at %d", at, n)
	if epoch != -1 {
		said += words(" of epoch %d", epoch)
	}
	if metadata != nil {
		said += " with " + short(*metadata)
	}
	return tweak{said, func(_ *scene, req kmsg.Request) {
		r, pl := req.(*kmsg.OffsetCommitRequest), placeOf(at)
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = pl.partition, n, epoch, metadata
		if n := len(r.Topics); n > 0 && r.Topics[n-1].Topic == pl.topic {
			r.Topics[n-1].Partitions = append(r.Topics[n-1].Partitions, p)
			return
		}
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic, t.TopicID, t.Partitions = pl.topic, idOf(pl.topic), []kmsg.OffsetCommitRequestTopicPartition{p}
		r.Topics = append(r.Topics, t)
	}}
}

// groupsOfOffsetFetch is the version of OffsetFetch that asks for several groups.
const groupsOfOffsetFetch = 8

// committed is an OffsetFetch of some partitions of one group.
func committed(version int16, group string, places []string, tweaks ...tweak) step {
	return asking(words("OffsetFetch v%d %q %v", version, group, places), tweaks, func(*scene) kmsg.Request {
		r := kmsg.NewPtrOffsetFetchRequest()
		r.Version, r.Group = version, group
		if places != nil {
			r.Topics = []kmsg.OffsetFetchRequestTopic{}
		}
		for _, at := range places {
			p := placeOf(at)
			t := kmsg.NewOffsetFetchRequestTopic()
			t.Topic, t.Partitions = p.topic, []int32{p.partition}
			r.Topics = append(r.Topics, t)
		}
		if version >= groupsOfOffsetFetch {
			inGroups(r)
		}
		return r
	})
}

// allCommitted is an OffsetFetch of all that a group committed.
func allCommitted(version int16, group string, tweaks ...tweak) step {
	return committed(version, group, nil, tweaks...)
}

// inGroups says a request in the words of the versions that ask for several groups.
func inGroups(r *kmsg.OffsetFetchRequest) {
	g := kmsg.NewOffsetFetchRequestGroup()
	if g.Group = r.Group; r.Topics != nil {
		g.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	}
	for _, old := range r.Topics {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.TopicID, t.Partitions = old.Topic, idOf(old.Topic), old.Partitions
		g.Topics = append(g.Topics, t)
	}
	r.Groups = append(r.Groups, g)
}

// reading says which member fetches offsets, and in which epoch.
func reading(name string, epoch int32) tweak {
	return tweak{words("as %s in epoch %d", name, epoch), func(s *scene, req kmsg.Request) {
		id := s.idOfMember(name)
		g := &req.(*kmsg.OffsetFetchRequest).Groups[0]
		g.MemberID, g.MemberEpoch = &id, epoch
	}}
}

// andOf asks for another group's offsets, too.
func andOf(group string, places ...string) tweak {
	return tweak{words("and of %q %v", group, places), func(_ *scene, req kmsg.Request) {
		other := kmsg.NewPtrOffsetFetchRequest()
		other.Group = group
		for _, at := range places {
			p := placeOf(at)
			other.Topics = append(other.Topics, kmsg.OffsetFetchRequestTopic{Topic: p.topic, Partitions: []int32{p.partition}})
		}
		inGroups(other)
		r := req.(*kmsg.OffsetFetchRequest)
		r.Groups = append(r.Groups, other.Groups...)
	}}
}

// deleteOffsets is an OffsetDelete.
func deleteOffsets(group string, places ...string) step {
	return request(words("OffsetDelete v0 %q %v", group, places), func(*scene) kmsg.Request {
		r := kmsg.NewPtrOffsetDeleteRequest()
		r.Group = group
		for _, at := range places {
			p := placeOf(at)
			if n := len(r.Topics); n == 0 || r.Topics[n-1].Topic != p.topic {
				r.Topics = append(r.Topics, kmsg.OffsetDeleteRequestTopic{Topic: p.topic})
			}
			t := &r.Topics[len(r.Topics)-1]
			t.Partitions = append(t.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p.partition})
		}
		return r
	})
}
