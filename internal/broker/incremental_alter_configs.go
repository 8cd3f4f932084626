package broker

import (
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// IncrementalAlterConfigs, versions 0 and 1: of topics, the broker, groups and
// client metrics.
//
// Sets, deletes, appends to and takes from lists. All operations on a resource are
// made, or none. A topic's configs take effect at once. The broker's are kept and
// shown, and those that topics follow (message.max.bytes, log.retention.ms and the
// like) take effect on every topic that does not say otherwise.
//
// Differences from Apache Kafka: other configs of the broker, of groups and of
// client metrics change nothing here. Limits on threads, the form of listeners and
// what several configs of a broker must be together are not checked, and the
// values of listener.name.NAME.* are not looked at. There are no loggers: their
// type is unknown. An unknown operation has words beside its code.

func (b *Broker) incrementalAlterConfigs(r *kmsg.IncrementalAlterConfigsRequest) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	changes := make([]configChange, len(r.Resources))
	for i := range r.Resources {
		changes[i] = operations(&r.Resources[i])
	}
	for i, refused := range b.alter(changes, r.ValidateOnly) {
		told := kmsg.NewIncrementalAlterConfigsResponseResource()
		told.ResourceType, told.ResourceName = changes[i].kind, changes[i].name
		told.ErrorCode, told.ErrorMessage = refused.told()
		resp.Resources = append(resp.Resources, told)
	}
	return resp
}

// An operation is one of those on a config.
type operation struct {
	kind  kmsg.ConfigResourceType // of the resource
	name  string
	op    kmsg.IncrementalAlterConfigOp
	value string
}

// operations is a change of some configs.
func operations(asked *kmsg.IncrementalAlterConfigsRequestResource) configChange {
	c := configChange{resource: resource{asked.ResourceType, asked.ResourceName}}
	var ops []operation
	for _, config := range asked.Configs {
		c.add(config.Name, config.Value == nil && config.Op != kmsg.IncrementalAlterConfigOpDelete)
		op := operation{kind: asked.ResourceType, name: config.Name, op: config.Op}
		if config.Value != nil {
			op.value = *config.Value
		}
		ops = append(ops, op)
	}
	c.apply = func(table map[string]*config, now map[string]string) (map[string]string, *refusal) {
		next := make(map[string]string, len(now)+len(ops))
		maps.Copy(next, now)
		for i := range ops {
			if r := ops[i].apply(next, table[ops[i].name]); r != nil {
				return nil, r
			}
		}
		return next, nil
	}
	return c
}

// apply makes one operation on the set that is to be.
func (o *operation) apply(next map[string]string, c *config) *refusal {
	switch o.op {
	case kmsg.IncrementalAlterConfigOpSet:
		next[o.name] = o.value
	case kmsg.IncrementalAlterConfigOpDelete:
		delete(next, o.name)
	case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
		if r := o.wantList(c); r != nil {
			return r
		}
		now, ok := next[o.name]
		if !ok {
			now = c.value
		}
		next[o.name] = o.edit(now)
	default:
		code := kerr.UnknownServerError
		if o.kind == kmsg.ConfigResourceTypeBroker {
			code = kerr.InvalidRequest
		}
		return refuse(code, "Unknown operations type %d", o.op)
	}
	return nil
}

// wantList says that a config is no list. Kafka has other words for the configs
// of a broker, and keeps the lists of client metrics from being edited.
func (o *operation) wantList(c *config) *refusal {
	isList := c != nil && c.kind == aList && o.kind != kmsg.ConfigResourceTypeClientMetrics
	switch {
	case isList:
		return nil
	case o.kind != kmsg.ConfigResourceTypeBroker:
		return refuse(kerr.InvalidConfig, "Can't %s to key %s because its type is not LIST.", o.op, o.name)
	case c == nil:
		return refuse(kerr.InvalidConfig, "Unknown config name: %s", o.name)
	}
	return refuse(kerr.InvalidConfig, "Config value %s is not allowed for config key: %s", strings.ToLower(o.op.String()), o.name)
}

// edit appends to a list what is not there, or takes away what is, once for each
// time that it is named.
func (o *operation) edit(now string) string {
	parts := slices.DeleteFunc(strings.Split(now, ","), func(s string) bool { return s == "" || s == null })
	named := splitJava(o.value)
	if o.op == kmsg.IncrementalAlterConfigOpAppend {
		there := make(map[string]bool, len(parts))
		for _, s := range parts {
			there[s] = true
		}
		more := slices.DeleteFunc(unique(named), func(s string) bool { return there[s] })
		return strings.Join(append(parts, more...), ",")
	}
	take := make(map[string]int, len(named))
	for _, s := range named {
		take[s]++
	}
	parts = slices.DeleteFunc(parts, func(s string) bool {
		take[s]--
		return take[s] >= 0
	})
	return strings.Join(parts, ",")
}

// splitJava splits at commas as Java does: empty parts at the end are none,
// unless that is all there is.
func splitJava(s string) []string {
	if s == "" {
		return []string{""}
	}
	if s = strings.TrimRight(s, ","); s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
