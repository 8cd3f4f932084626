package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepostmq/fencepost/internal/fault"
	"github.com/goccy/go-yaml/ast"
)

// maxValues is how many values are read of one file, those that an alias
// repeats counted each time.
const maxValues = 100_000

// A reader turns the nodes of a document into a scenario and notes what is
// wrong on the way.
type reader struct {
	*problems
	src     *source
	targets map[*ast.AliasNode]ast.Node // what each alias stands for
	values  int                         // how many were read
}

func newReader(src *source, root ast.Node, p *problems) *reader {
	r := &reader{problems: p, src: src, targets: make(map[*ast.AliasNode]ast.Node)}
	ast.Walk(&anchors{named: make(map[string]ast.Node), targets: r.targets}, root)
	return r
}

// anchors finds what each alias of a document stands for: the anchor of its
// name that came last before it.
type anchors struct {
	named   map[string]ast.Node
	targets map[*ast.AliasNode]ast.Node
}

// Visit is called for each node in the order of the file.
func (a *anchors) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.AnchorNode:
		// An alias cannot be named anew, so that none ever stands for itself.
		if _, isAlias := n.Value.(*ast.AliasNode); !isAlias {
			a.named[n.Name.GetToken().Value] = n.Value
		}
	case *ast.AliasNode:
		a.targets[n] = a.named[n.Value.GetToken().Value]
	}
	return a
}

// A value is a node together with what it is called in an error.
type value struct {
	name string // such as seed
	node ast.Node
	at   place // where it stands, which for an alias is not where it is written
}

// value takes a node for a value. Anchors and aliases are seen through; ok is
// false, and the reason noted, for what is no value of a scenario.
func (r *reader) value(name string, n ast.Node) (v value, ok bool) {
	v = value{name: name, node: n, at: r.src.place(first(n))}
	if r.values++; r.values > maxValues {
		return v, false
	}
	for {
		switch n := v.node.(type) {
		case *ast.AnchorNode:
			v.node = n.Value
		case *ast.AliasNode:
			if v.node = r.targets[n]; v.node == nil {
				r.add(v.at, "the alias "+shown("*"+n.Value.GetToken().Value)+", which stands for nothing", "an anchor before it", "")
				return v, false
			}
		case *ast.TagNode:
			r.add(v.at, "the tag "+shown(n.GetToken().Value), "the value without it; quotes make a text of a number", "")
			return v, false
		default:
			return v, true
		}
	}
}

// add notes one problem. What is found after the last value that is read comes
// of not reading on.
func (r *reader) add(at place, problem, want, near string) {
	if r.values <= maxValues {
		r.problems.add(at, problem, want, near)
	}
}

// exhausted says whether there were too many values, and notes it.
func (r *reader) exhausted() bool {
	if r.values <= maxValues {
		return false
	}
	r.problems.add(start, fmt.Sprintf("more than %d values, aliases followed", maxValues), "fewer", "")
	return true
}

// wrong notes that a value is not what it should be.
func (r *reader) wrong(v value, want string) {
	problem := v.name + " is " + describe(v.node)
	if isNull(v.node) {
		problem = v.name + " has no value"
	}
	r.add(v.at, problem, want, "")
}

// items gives the values of a list. Where there is none, nothing is listed:
// that is what remains of a list whose lines are commented out.
func (r *reader) items(v value, itemName, want string) (items []value) {
	if isNull(v.node) {
		return nil
	}
	list, ok := v.node.(*ast.SequenceNode)
	if !ok {
		r.wrong(v, want)
		return nil
	}
	for _, n := range list.Values {
		if item, ok := r.value(itemName, n); ok {
			items = append(items, item)
		}
		if r.exhausted() {
			return nil
		}
	}
	return items
}

// An entry is one KEY: VALUE of a mapping.
type entry struct {
	key string
	at  place // of the key
	value
}

// entries gives what a mapping holds, in the order of the file; of a key that
// is there twice, the first. ok is false if the value is no mapping.
func (r *reader) entries(v value, want string) (entries []entry, ok bool) {
	mapping, ok := v.node.(*ast.MappingNode)
	if !ok {
		r.wrong(v, want)
		return nil, false
	}
	lines := make(map[string]int)
	for _, pair := range mapping.Values {
		e, ok := r.entry(pair)
		if r.exhausted() {
			return nil, true
		}
		line, twice := lines[e.key]
		switch {
		case !ok:
		case twice:
			r.add(e.at, fmt.Sprintf("a second key %s", shown(e.key)), fmt.Sprintf("it once; the first stands in line %d", line), "")
		default:
			lines[e.key] = e.at.line
			entries = append(entries, e)
		}
	}
	return entries, true
}

// entry reads one KEY: VALUE.
func (r *reader) entry(pair *ast.MappingValueNode) (e entry, ok bool) {
	e.at = r.src.place(first(pair.Key))
	if pair.Key.IsMergeKey() {
		r.add(e.at, "a merge key <<", "the keys themselves; an alias may stand for a whole value", "")
		return e, false
	}
	var key ast.Node = pair.Key
	if k, isComplex := key.(*ast.MappingKeyNode); isComplex {
		key = k.Value
	}
	named, ok := r.value("a key", key)
	if !ok {
		return e, false
	}
	s, ok := scalarOf(named.node)
	if !ok {
		r.wrong(named, "a word")
		return e, false
	}
	e.key = s.text
	e.value, ok = r.value(called(e.key), pair.Value)
	if isNull(e.node) {
		e.value.at = e.at // where nothing stands there is nothing to point at
	}
	return e, ok
}

// A field is a key that is known, and what reads its value.
type field[T any] struct {
	name string
	read func(r *reader, v value, into *T)
}

func namesOf[T any](fields []field[T]) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// fields lets each entry be read by the field of its name.
func fields[T any](r *reader, entries []entry, known []field[T], into *T) {
	for _, e := range entries {
		i := slices.IndexFunc(known, func(f field[T]) bool { return f.name == e.key })
		if i < 0 {
			names := namesOf(known)
			r.add(e.at, "unknown key "+shown(e.key), fault.OrList(names), fault.Near(e.key, names))
			continue
		}
		known[i].read(r, e.value, into)
	}
}

// called is a key as the name of its value.
func called(key string) string {
	if strings.ContainsFunc(key, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return shown(key)
	}
	return shortened(key)
}
