package kafka

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// join is a JoinGroup of a consumer that knows the protocol range. One that was
// given an id joins with it.
func join(version int16, group, name string, tweaks ...tweak) step {
	st := asking(words("JoinGroup v%d %q as %s", version, group, name), tweaks, func(s *scene) kmsg.Request {
		r := kmsg.NewPtrJoinGroupRequest()
		r.Version, r.Group, r.MemberID, r.ProtocolType = version, group, s.member(name).id, "consumer"
		r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 30_000, 30_000
		r.Protocols = protocolsOf("range")
		return r
	})
	st.learn = func(s *scene, resp kmsg.Response) {
		r := resp.(*kmsg.JoinGroupResponse)
		s.became(name, r.MemberID, r.Generation, r.ErrorCode)
	}
	return st
}

// protocols are those that a member knows: NAME, or NAME:METADATA.
func protocols(all ...string) tweak {
	return tweak{words("protocols %v", all), func(_ *scene, req kmsg.Request) {
		req.(*kmsg.JoinGroupRequest).Protocols = protocolsOf(all...)
	}}
}

func protocolsOf(all ...string) (list []kmsg.JoinGroupRequestProtocol) {
	for _, text := range all {
		name, metadata, _ := strings.Cut(text, ":")
		list = append(list, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: []byte(metadata)})
	}
	return list
}

// instance makes a request one of a static member.
func instance(id string) tweak { return with("InstanceID", id) }

// subscribing says in the words of a consumer which topics a member wants.
func subscribing(protocol string, aliases ...string) tweak {
	return tweak{words("protocol %s of a consumer of %v", protocol, aliases), func(s *scene, req kmsg.Request) {
		m := kmsg.NewConsumerMemberMetadata()
		m.Version = 1
		for _, alias := range aliases {
			m.Topics = append(m.Topics, s.name(alias))
		}
		req.(*kmsg.JoinGroupRequest).Protocols = []kmsg.JoinGroupRequestProtocol{{Name: protocol, Metadata: m.AppendTo(nil)}}
	}}
}

// syncGroup is a SyncGroup of a member.
func syncGroup(version int16, group, name string, tweaks ...tweak) step {
	return asking(words("SyncGroup v%d %q as %s", version, group, name), tweaks, func(s *scene) kmsg.Request {
		r := kmsg.NewPtrSyncGroupRequest()
		m := s.member(name)
		r.Version, r.Group, r.MemberID, r.Generation = version, group, m.id, m.generation
		r.ProtocolType, r.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
		return r
	})
}

// assign is what a leader gives to a member.
func assign(name, what string) tweak {
	return tweak{words("%s gets %q", name, what), func(s *scene, req kmsg.Request) {
		r := req.(*kmsg.SyncGroupRequest)
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{
			MemberID: s.idOfMember(name), MemberAssignment: []byte(what),
		})
	}}
}

// assignPartitions is what a leader gives to a member, in the words of a consumer.
func assignPartitions(name, alias string, partitions ...int32) tweak {
	return tweak{words("%s gets %s %v", name, alias, partitions), func(s *scene, req kmsg.Request) {
		a := kmsg.NewConsumerMemberAssignment()
		a.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: s.name(alias), Partitions: partitions}}
		r := req.(*kmsg.SyncGroupRequest)
		r.GroupAssignment = append(r.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{
			MemberID: s.idOfMember(name), MemberAssignment: a.AppendTo(nil),
		})
	}}
}

// heartbeat is a Heartbeat of a member.
func heartbeat(version int16, group, name string, tweaks ...tweak) step {
	return asking(words("Heartbeat v%d %q as %s", version, group, name), tweaks, func(s *scene) kmsg.Request {
		r := kmsg.NewPtrHeartbeatRequest()
		m := s.member(name)
		r.Version, r.Group, r.MemberID, r.Generation = version, group, m.id, m.generation
		return r
	})
}

// leave is a LeaveGroup. Members are NAME, NAME/INSTANCE or /INSTANCE; a name that
// the script does not know is an id.
func leave(version int16, group string, members ...string) step {
	return request(words("LeaveGroup v%d %q %v", version, group, members), func(s *scene) kmsg.Request {
		r := kmsg.NewPtrLeaveGroupRequest()
		r.Version, r.Group = version, group
		for _, text := range members {
			name, instance, static := strings.Cut(text, "/")
			m := kmsg.NewLeaveGroupRequestMember()
			m.MemberID = s.idOfMember(name)
			if static {
				m.InstanceID = &instance
			}
			r.MemberID, r.Members = m.MemberID, append(r.Members, m)
		}
		return r
	})
}

// stable is a group of these members, the first of whom leads. Each knows the
// protocol range, and each got its own name.
func stable(group string, names ...string) []step {
	return stableOf(group, func(string) []tweak { return nil }, names...)
}

// stableOf is a stable group whose members join with tweaks.
func stableOf(group string, how func(name string) []tweak, names ...string) []step {
	leader, assigned := names[0], []tweak{assign(names[0], names[0])}
	steps := []step{coordinated(0, group)}
	steps = append(steps, join(3, group, leader, how(leader)...), syncGroup(3, group, leader, assigned...))
	for _, name := range names[1:] {
		assigned = append(assigned, assign(name, name))
		steps = append(steps, ahead(name, join(3, group, name, how(name)...)))
		for _, earlier := range names[1 : len(assigned)-1] {
			steps = append(steps, ahead(earlier, join(3, group, earlier, how(earlier)...)))
		}
		steps = append(steps, join(3, group, leader, how(leader)...))
		for _, other := range names[1:len(assigned)] {
			steps = append(steps, answerTo(other))
		}
		steps = append(steps, syncGroup(3, group, leader, assigned...))
		for _, other := range names[1:len(assigned)] {
			steps = append(steps, syncGroup(3, group, other))
		}
	}
	return prepare(steps...)
}

// describeGroups is a DescribeGroups.
func describeGroups(version int16, groups ...string) step {
	return request(words("DescribeGroups v%d %q", version, groups), func(*scene) kmsg.Request {
		r := kmsg.NewPtrDescribeGroupsRequest()
		r.Version, r.Groups = version, append(r.Groups, groups...)
		return r
	})
}

// listGroups is a ListGroups of the script's own groups.
func listGroups(version int16, tweaks ...tweak) step {
	return ofOthers(asking(words("ListGroups v%d", version), tweaks, func(*scene) kmsg.Request {
		r := kmsg.NewPtrListGroupsRequest()
		r.Version = version
		return r
	}))
}

// deleteGroups is a DeleteGroups.
func deleteGroups(version int16, groups ...string) step {
	return request(words("DeleteGroups v%d %q", version, groups), func(*scene) kmsg.Request {
		r := kmsg.NewPtrDeleteGroupsRequest()
		r.Version, r.Groups = version, append(r.Groups, groups...)
		return r
	})
}

// has waits until a group has so many members: time has to pass first.
func has(group string, members int) step {
	return setUp(words("%q has %d members", group, members), func(s *scene) error {
		return s.awaitGroup(group, "of that size", func(g *kmsg.DescribeGroupsResponseGroup) bool { return len(g.Members) == members })
	})
}

// known waits until groups can be asked for. Kafka answers the first JoinGroup of a
// group before what it wrote of the group is committed, and shows what is committed.
func known(groups ...string) step {
	return setUp(words("%q are known", groups), func(s *scene) error {
		for _, group := range groups {
			if err := s.awaitGroup(group, "known", func(g *kmsg.DescribeGroupsResponseGroup) bool { return g.State != "Dead" }); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *scene) awaitGroup(group, what string, done func(*kmsg.DescribeGroupsResponseGroup) bool) error {
	return s.await("group "+what, func() (bool, error) {
		r := kmsg.NewPtrDescribeGroupsRequest()
		r.Version, r.Groups = 4, []string{s.name(group)}
		resp, err := s.ask(r)
		if err != nil {
			return false, err
		}
		return done(&resp.(*kmsg.DescribeGroupsResponse).Groups[0]), nil
	})
}
