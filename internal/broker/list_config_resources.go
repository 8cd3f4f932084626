package broker

import (
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListConfigResources, versions 0 and 1: client metrics in version 0, later what
// is asked for, or everything that has configs. A type that there is not is
// UNSUPPORTED_VERSION.
//
// Difference from Apache Kafka: groups are those whose configs were set.

func (b *Broker) listConfigResources(r *kmsg.ListConfigResourcesRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.ListConfigResourcesResponse)
	asked := r.ResourceTypes
	if r.Version == 0 {
		asked = []int8{int8(kmsg.ConfigResourceTypeClientMetrics)}
	}
	for _, kind := range asked {
		if !slices.Contains(resourceTypes, kmsg.ConfigResourceType(kind)) {
			resp.ErrorCode = kerr.UnsupportedVersion.Code
			return resp
		}
	}
	for _, kind := range resourceTypes {
		if len(asked) > 0 && !slices.Contains(asked, int8(kind)) {
			continue
		}
		for _, name := range b.resources(kind) {
			resp.ConfigResources = append(resp.ConfigResources, kmsg.ListConfigResourcesResponseConfigResource{Name: name, Type: int8(kind)})
		}
	}
	return resp
}

// resources lists what has configs of a type, by name.
func (b *Broker) resources(kind kmsg.ConfigResourceType) (names []string) {
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		return b.Topics()
	case kmsg.ConfigResourceTypeBroker, kmsg.ConfigResourceTypeBrokerLogger:
		return []string{strconv.Itoa(NodeID)}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for at := range maps.Keys(b.set) {
		if at.kind == kind {
			names = append(names, at.name)
		}
	}
	slices.Sort(names)
	return names
}
