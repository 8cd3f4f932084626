package broker

import "github.com/twmb/franz-go/pkg/kmsg"

// DeleteGroups, versions 0 to 3.
//
// A group without members goes with its offsets; its generations begin anew. A
// group that is named twice is told once.

func (b *Broker) deleteGroups(r *kmsg.DeleteGroupsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.DeleteGroupsResponse)
	told := map[string]bool{}
	for _, id := range r.Groups {
		if told[id] {
			continue
		}
		told[id] = true
		g := kmsg.NewDeleteGroupsResponseGroup()
		g.Group, g.ErrorCode = id, groupCode(b.groups.Delete(id))
		resp.Groups = append(resp.Groups, g)
	}
	return resp
}
