package broker

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AlterConfigs, versions 0 to 2: of topics, the broker, groups and client metrics.
//
// What is named replaces all that the resource set before; an empty list resets
// everything. It takes effect at once, or not at all if one config is bad.
//
// Differences from Apache Kafka: see IncrementalAlterConfigs.

func (b *Broker) alterConfigs(r *kmsg.AlterConfigsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.AlterConfigsResponse)
	changes := make([]configChange, len(r.Resources))
	for i := range r.Resources {
		changes[i] = replacement(&r.Resources[i])
	}
	for i, refused := range b.alter(changes, r.ValidateOnly) {
		told := kmsg.NewAlterConfigsResponseResource()
		told.ResourceType, told.ResourceName = changes[i].kind, changes[i].name
		told.ErrorCode, told.ErrorMessage = refused.told()
		resp.Resources = append(resp.Resources, told)
	}
	return resp
}

// replacement is a change that leaves nothing of what was.
func replacement(asked *kmsg.AlterConfigsRequestResource) configChange {
	c := configChange{resource: resource{asked.ResourceType, asked.ResourceName}}
	next := make(map[string]string, len(asked.Configs))
	for _, config := range asked.Configs {
		c.add(config.Name, config.Value == nil)
		if config.Value != nil {
			next[config.Name] = *config.Value
		}
	}
	c.apply = func(map[string]*config, map[string]string) (map[string]string, *refusal) { return next, nil }
	return c
}
