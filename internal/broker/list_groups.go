package broker

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListGroups, versions 0 to 5 (by state from 4, by type from 5).
//
// Groups are listed by id. Filters go by names in letters of either size; names
// that there are not match nothing.

// The types of groups: those in which a member assigns, and those in which the
// coordinator does.
const (
	classicType  = "classic"
	consumerType = "consumer"
)

func (b *Broker) listGroups(r *kmsg.ListGroupsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.ListGroupsResponse)
	for _, l := range b.groups.List() {
		g := kmsg.NewListGroupsResponseGroup()
		g.Group, g.ProtocolType, g.GroupState, g.GroupType = l.ID, l.ProtocolType, l.State.String(), classicType
		if l.Consumer {
			g.GroupType = consumerType
		}
		if passes(r.StatesFilter, g.GroupState) && passes(r.TypesFilter, g.GroupType) {
			resp.Groups = append(resp.Groups, g)
		}
	}
	return resp
}

// passes says whether a filter lets a name through. One without names lets all.
func passes(filter []string, name string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(wanted string) bool { return strings.EqualFold(wanted, name) })
}
