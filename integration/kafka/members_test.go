package kafka

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A member is what a broker told of a member of a group.
type member struct {
	id         string
	generation int32 // or epoch, in the consumer protocol
}

// nobody is a client in no group.
var nobody = member{generation: -1}

// member is the member of this name in the script: nobody, if no broker told its id.
func (s *scene) member(name string) member {
	if m, ok := s.members[name]; ok {
		return m
	}
	return nobody
}

// idOfMember is the id of a member of the script, or a name that is none as it is.
func (s *scene) idOfMember(name string) string {
	if m, ok := s.members[name]; ok {
		return m.id
	}
	return name
}

// became notes what a broker told of a member.
func (s *scene) became(name, id string, generation int32, code int16) {
	switch m := s.member(name); {
	case code == 0:
		s.members[name] = member{id, generation}
	case code == memberIDRequired:
		s.members[name] = member{id, m.generation}
	}
}

const memberIDRequired = 79

// drawnID is a member id that a broker draws: a UUID in either form.
var drawnID = regexp.MustCompile(`([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|^[0-9A-Za-z_-]{22})$`)

// drawn says whether a broker drew the id.
func (m member) drawn() bool { return drawnID.MatchString(m.id) }

// showMember tells a member's id by its name in the script.
func (s *scene) showMember(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "null"
		}
		v = v.Elem()
	}
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		if s.members[name].id == v.String() {
			return "(" + name + ")"
		}
	}
	if drawnID.MatchString(v.String()) {
		return "(new)"
	}
	return strconv.Quote(v.String())
}

// showLeader tells the leader of a group like any member, and the leader of a
// partition by its number.
func (s *scene) showLeader(v reflect.Value) string {
	if v.CanInt() {
		return strconv.FormatInt(v.Int(), 10)
	}
	return s.showMember(v)
}

// showText shows bytes that hold text.
func (s *scene) showText(v reflect.Value) string {
	return strconv.Quote(s.hide(string(v.Bytes())))
}

// keepOwn leaves out of a list what another script made.
func keepOwn[T any](s *scene, all []T, name func(T) string) []T {
	return slices.DeleteFunc(all, func(one T) bool { return len(s.hide(name(one))) == len(name(one)) })
}

// ofOthers is a step whose answer tells also of what other scripts made.
func ofOthers(st step) step {
	ask := st.play
	st.play = func(s *scene) (kmsg.Response, error) {
		resp, err := ask(s)
		switch r := resp.(type) {
		case *kmsg.ListGroupsResponse:
			r.Groups = keepOwn(s, r.Groups, func(g kmsg.ListGroupsResponseGroup) string { return g.Group })
		case *kmsg.ListTransactionsResponse:
			r.TransactionStates = keepOwn(s, r.TransactionStates, func(t kmsg.ListTransactionsResponseTransactionState) string { return t.TransactionalID })
		}
		return resp, err
	}
	return st
}
