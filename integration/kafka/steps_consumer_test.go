package kafka

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// beat is a ConsumerGroupHeartbeat that says nothing new. A member's id is its name
// in the script, unless the broker draws it (version 0).
func beat(group, name string, tweaks ...tweak) step { return beatIn(1, group, name, tweaks...) }

func beatIn(version int16, group, name string, tweaks ...tweak) step {
	st := asking(words("ConsumerGroupHeartbeat v%d %q as %s", version, group, name), tweaks, func(s *scene) kmsg.Request {
		r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		r.Version, r.Group, r.MemberEpoch, r.RebalanceTimeoutMillis = version, group, max(s.member(name).generation, 0), -1
		if r.MemberID = s.idOfMember(name); version == 0 {
			r.MemberID = s.member(name).id
		}
		return r
	})
	st.learn = func(s *scene, resp kmsg.Response) {
		r := resp.(*kmsg.ConsumerGroupHeartbeatResponse)
		if r.MemberID != nil {
			s.became(name, *r.MemberID, r.MemberEpoch, r.ErrorCode)
		}
	}
	return st
}

// heartbeatOf is the request that a tweak is for.
func heartbeatOf(req kmsg.Request) *kmsg.ConsumerGroupHeartbeatRequest {
	return req.(*kmsg.ConsumerGroupHeartbeatRequest)
}

// subscribed begins a membership: the first heartbeat says all that there is to say.
func subscribed(aliases ...string) tweak {
	return tweak{words("subscribed to %v", aliases), func(_ *scene, req kmsg.Request) {
		r := heartbeatOf(req)
		r.MemberEpoch, r.RebalanceTimeoutMillis = 0, 30_000
		r.SubscribedTopicNames, r.Topics = append([]string{}, aliases...), []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	}}
}

// wants changes what a member is subscribed to.
func wants(aliases ...string) tweak {
	return tweak{words("wants %v", aliases), func(_ *scene, req kmsg.Request) {
		heartbeatOf(req).SubscribedTopicNames = append([]string{}, aliases...)
	}}
}

// matching subscribes to the script's topics whose names match.
func matching(pattern string) tweak {
	return tweak{"matching " + pattern, func(s *scene, req kmsg.Request) {
		heartbeatOf(req).SubscribedTopicRegex = kmsg.StringPtr(s.prefix + pattern)
	}}
}

// owning says which partitions a member has.
func owning(places ...string) tweak {
	return tweak{words("owning %v", places), func(_ *scene, req kmsg.Request) {
		r := heartbeatOf(req)
		r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for _, at := range places {
			p := placeOf(at)
			if n := len(r.Topics); n == 0 || r.Topics[n-1].TopicID != idOf(p.topic) {
				r.Topics = append(r.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: idOf(p.topic)})
			}
			t := &r.Topics[len(r.Topics)-1]
			t.Partitions = append(t.Partitions, p.partition)
		}
	}}
}

// ready waits until the coordinators of groups know of a topic, which is a little
// after its leader does. Nothing is left of the member that asks.
func ready(alias string, groups ...string) step {
	return setUp(words("%s is ready for %q", alias, groups), func(s *scene) error {
		for _, group := range groups {
			if err := s.await("assignment of "+alias, func() (bool, error) { return s.probe(group, alias) }); err != nil {
				return err
			}
		}
		return nil
	})
}

// probe joins a group, leaves and deletes it, and says whether there was anything to
// be assigned.
func (s *scene) probe(group, alias string) (assigned bool, err error) {
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	subscribed(s.name(alias)).do(s, r)
	r.Version, r.Group, r.MemberID = 1, s.name(group), "probe"
	resp, err := s.ask(r)
	if err != nil {
		return false, err
	}
	told := resp.(*kmsg.ConsumerGroupHeartbeatResponse)
	r.MemberEpoch = -1
	if _, err = s.ask(r); err != nil {
		return false, err
	}
	d := kmsg.NewPtrDeleteGroupsRequest()
	d.Version, d.Groups = 2, []string{r.Group}
	_, err = s.ask(d)
	return told.Assignment != nil && len(told.Assignment.Topics) > 0, err
}

// describeConsumers is a ConsumerGroupDescribe.
func describeConsumers(version int16, groups ...string) step {
	return request(words("ConsumerGroupDescribe v%d %q", version, groups), func(*scene) kmsg.Request {
		r := kmsg.NewPtrConsumerGroupDescribeRequest()
		r.Version, r.Groups = version, append(r.Groups, groups...)
		return r
	})
}

// settle lets the members of a group say what they have until all have what they
// are to have in this epoch: Kafka assigns at intervals, and matches topics meanwhile.
func settle(group string, epoch int32, names ...string) step {
	return setUp(words("%q settles in epoch %d", group, epoch), func(s *scene) error {
		owned := map[string][]kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for _, name := range names {
			owned[name] = []kmsg.ConsumerGroupHeartbeatRequestTopic{} // it gives up what it had
		}
		return s.await("settled group", func() (bool, error) {
			for _, name := range names {
				if err := s.settleOne(group, name, owned); err != nil {
					return false, err
				}
			}
			r := kmsg.NewPtrConsumerGroupDescribeRequest()
			r.Groups = []string{s.name(group)}
			resp, err := s.ask(r)
			if err != nil {
				return false, err
			}
			g := resp.(*kmsg.ConsumerGroupDescribeResponse).Groups[0]
			return g.State == "Stable" && g.Epoch == epoch && !slices.ContainsFunc(g.Members, func(m kmsg.ConsumerGroupDescribeResponseGroupMember) bool {
				return m.MemberEpoch != g.Epoch
			}), nil
		})
	})
}

// settleOne beats once, and takes what the member is given.
func (s *scene) settleOne(group, name string, owned map[string][]kmsg.ConsumerGroupHeartbeatRequestTopic) error {
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	m := s.member(name)
	r.Version, r.Group, r.MemberID, r.MemberEpoch, r.RebalanceTimeoutMillis = 1, s.name(group), m.id, m.generation, -1
	r.Topics = owned[name]
	resp, err := s.ask(r)
	if err != nil {
		return err
	}
	told := resp.(*kmsg.ConsumerGroupHeartbeatResponse)
	s.became(name, m.id, told.MemberEpoch, told.ErrorCode)
	if told.Assignment != nil {
		owned[name] = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
		for _, t := range told.Assignment.Topics {
			owned[name] = append(owned[name], kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t.TopicID, Partitions: t.Partitions})
		}
	}
	return nil
}

// soon is a heartbeat whose answer depends on how long ago the last assignment was.
func soon(st step) step { return prepare(st)[0] }

// counted is a ConsumerGroupDescribe in which partitions are only counted: which of
// several members gets which follows from Kafka's hashes.
func counted(st step) step {
	ask := st.play
	st.words += ", partitions counted"
	st.play = func(s *scene) (kmsg.Response, error) {
		resp, err := ask(s)
		if err != nil {
			return nil, err
		}
		for _, g := range resp.(*kmsg.ConsumerGroupDescribeResponse).Groups {
			for _, m := range g.Members {
				for _, a := range []kmsg.Assignment{m.Assignment, m.TargetAssignment} {
					for _, t := range a.TopicPartitions {
						for i := range t.Partitions {
							t.Partitions[i] = int32(i)
						}
					}
				}
			}
		}
		return resp, nil
	}
	return st
}
