package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

const (
	topicsWanted    = `a list, one "- NAME" or "- NAME:PARTITIONS" a line`
	topicWanted     = "NAME, NAME:PARTITIONS, or a mapping with name, partitions and configs"
	topicNameWanted = "a name, in quotes if it looks like a number"
	configsWanted   = "a mapping, one CONFIG: VALUE a line"
	configWanted    = "a text, a number, true or false"
)

// topicFields is the one table of the keys of a topic.
var topicFields = []field[Topic]{
	{"name", func(r *reader, v value, t *Topic) {
		if s, ok := r.text(v, topicNameWanted); ok && s.text == "" {
			r.add(v.at, "an empty name", topicNameWanted, "")
		} else if ok {
			t.Name = s.text
		}
	}},
	{"partitions", func(r *reader, v value, t *Topic) {
		n, _ := r.number(v, 1, MaxPartitions)
		t.Partitions = int(n)
	}},
	{"configs", readConfigs},
}

// readTopics reads the topics that are there when the broker starts.
func readTopics(r *reader, v value, s *Scenario) {
	lines := make(map[string]int)
	for _, item := range r.items(v, "a topic", topicsWanted) {
		t := r.topic(item)
		if t.Name == "" {
			continue
		}
		if line, twice := lines[t.Name]; twice {
			r.add(item.at, "a second topic "+shown(t.Name), fmt.Sprintf("another name; the first stands in line %d", line), "")
			continue
		}
		lines[t.Name] = item.at.line
		s.Topics = append(s.Topics, t)
	}
}

// topic reads one topic. Its name is empty if it has none that is right.
func (r *reader) topic(v value) Topic {
	if _, isMapping := v.node.(*ast.MappingNode); isMapping {
		return r.topicMapping(v)
	}
	s, ok := r.text(v, topicWanted+"; a name in quotes if it looks like a number")
	if !ok {
		return Topic{}
	}
	return r.topicText(v, s)
}

// topicMapping reads a topic that says more than its name.
func (r *reader) topicMapping(v value) (t Topic) {
	entries, _ := r.entries(v, topicWanted)
	if near := r.unspaced(entries); near != "" {
		r.add(v.at, "a space behind the colon of a topic", topicWanted, near)
		return t
	}
	before := len(r.all)
	fields(r, entries, topicFields, &t)
	// A key that is misspelt may be the name.
	if t.Name == "" && len(r.all) == before {
		r.add(v.at, "a topic without a name", "a line name: NAME", "")
	}
	return t
}

// unspaced is orders:3 for one who wrote orders: 3, which YAML takes for a
// mapping, "" for any other topic.
func (r *reader) unspaced(entries []entry) string {
	if len(entries) != 1 || slices.Contains(namesOf(topicFields), entries[0].key) {
		return ""
	}
	s, ok := scalarOf(entries[0].node)
	if _, problem := parseNumber(s.text, 1, MaxPartitions); !ok || problem != "" {
		return ""
	}
	return entries[0].key + ":" + s.text
}

// topicText reads NAME or NAME:PARTITIONS.
func (r *reader) topicText(v value, s scalar) (t Topic) {
	name, partitions, counted := strings.Cut(s.text, ":")
	if name == "" {
		r.add(v.at, "a topic without a name", topicWanted, "")
		return t
	}
	if !counted {
		return Topic{Name: name}
	}
	at := r.src.inside(s.token, name+":")
	n, problem := parseNumber(partitions, 1, MaxPartitions)
	if problem != "" {
		want := fmt.Sprintf("a whole number from 1 to %d behind the colon", MaxPartitions)
		if strings.Contains(partitions, ":") {
			want = "configs in a mapping with name, partitions and configs"
		}
		r.add(at, "the number of partitions "+shown(partitions)+" "+problem, want, "")
		return t
	}
	return Topic{Name: name, Partitions: int(n)}
}

// readConfigs reads a topic's configs. Their values are kept as they are
// written.
func readConfigs(r *reader, v value, t *Topic) {
	if isNull(v.node) {
		return
	}
	entries, _ := r.entries(v, configsWanted)
	for _, e := range entries {
		e.name = "config " + e.name
		s, ok := scalarOf(e.node)
		if !ok || isNull(e.node) {
			r.wrong(e.value, configWanted)
			continue
		}
		if t.Configs == nil {
			t.Configs = make(map[string]string)
		}
		t.Configs[e.key] = s.text
	}
}
