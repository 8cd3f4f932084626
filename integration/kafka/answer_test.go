package kafka

import (
	"encoding/hex"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// An answer is what became of one step: the fields of a response, or how it stayed
// out.
type answer struct {
	step    string // its words
	without string // "connection closed", "no answer"; "" if there are parts
	parts   []part
}

// A part is one struct of a response, with the fields that are not structs
// themselves. Fields that have their default, and whose default is no zero, are
// left out, and so is what is empty.
type part struct {
	path   string // "" is the response itself
	fields []field
}

type field struct{ name, value string }

// fields are all fields of the answer by their path.
func (a answer) fields() map[string]string {
	all := map[string]string{}
	if a.without != "" {
		all["answer"] = a.without
	}
	for _, p := range a.parts {
		for at := p.path; at != ""; at = above(at) {
			all[at] = there
		}
		for _, f := range p.fields {
			all[dotted(p.path, f.name)] = f.value
		}
	}
	return all
}

// above is the path of the part that a part is in.
func above(path string) string {
	if i := strings.LastIndexByte(path, '['); i > 0 {
		path = path[:i]
	}
	return path[:strings.LastIndexByte(path, ']')+1]
}

// there is the value of a part by itself.
const there = "there"

func dotted(path, name string) string {
	return strings.Trim(path+"."+name, ".")
}

// answered turns a response into an answer in the words of the script.
func (s *scene) answered(words string, resp kmsg.Response, err error) answer {
	a := answer{step: words}
	if err != nil {
		a.without = err.Error()
		return a
	}
	f := flattener{scene: s, answer: &a, seen: map[string]int{}}
	f.structure("", reflect.ValueOf(resp).Elem())
	a.parts = withoutEmpty(a.parts)
	return a
}

type flattener struct {
	scene  *scene
	answer *answer
	seen   map[string]int // entries of lists, by where they stand
}

// structure adds a struct and what is in it. Nested structs of nothing but defaults
// are left out, entries of a list are not.
func (f *flattener) structure(path string, v reflect.Value) {
	at := len(f.answer.parts)
	f.answer.parts = append(f.answer.parts, part{path: path})
	var fields []field
	defaults := defaultsOf(v)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		switch value := v.Field(i); {
		case name == "Version" && path == "" || name == "UnknownTags":
		case nested(value):
			f.nest(dotted(path, name), value, defaults.Field(i))
		case name == "RecordBatches":
			fields = append(fields, field{name, recordsSummary(value.Bytes(), value.IsNil())})
			f.batches(dotted(path, name), value.Bytes())
		default:
			if text, shown := f.scalar(name, value, defaults.Field(i)); shown {
				fields = append(fields, field{name, text})
			}
		}
	}
	f.answer.parts[at].fields = fields
}

// withoutEmpty leaves out parts that say nothing but that there are parts in them.
func withoutEmpty(all []part) (some []part) {
	for i, p := range all {
		if len(p.fields) > 0 || i+1 == len(all) || p.path != "" && !strings.HasPrefix(all[i+1].path, p.path+".") {
			some = append(some, p)
		}
	}
	return some
}

// nested says whether a field is a struct or a list of structs.
func nested(v reflect.Value) bool {
	t := v.Type()
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

func (f *flattener) nest(path string, v, def reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if !reflect.DeepEqual(v.Interface(), def.Interface()) {
			f.structure(path, v)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			f.structure(path, v.Elem())
		}
	default:
		f.list(path, v)
	}
}

// list adds the entries of a list, each under what it is about: a topic's name, a
// partition's number. Their order is of no meaning to a client, and neither is
// whether partitions of one topic come together.
func (f *flattener) list(path string, v reflect.Value) {
	for _, i := range f.sorted(v) {
		about, key := f.key(v.Index(i), i)
		where := fmt.Sprintf("%s[%s]", path, key)
		f.seen[where]++
		if n := f.seen[where]; n > 1 && !groups(v.Index(i)) {
			where = fmt.Sprintf("%s[%s, again %d]", path, key, n-1)
		}
		at := len(f.answer.parts)
		f.structure(where, v.Index(i))
		entry := &f.answer.parts[at] // its path says already what it is about
		entry.fields = slices.DeleteFunc(entry.fields, func(f field) bool { return f.name == about })
	}
}

// groups says whether an entry does nothing but group partitions.
func groups(v reflect.Value) bool {
	return v.FieldByName("Partitions").IsValid() && !v.FieldByName("ErrorCode").IsValid()
}

// keys are the fields that an entry of a list is told by, the first that it has.
var keys = []string{
	"Topic", "Partition", "ApiKey", "ResourceName", "Name", "Key", "NodeID", "Group", "MemberID", "TransactionalID", "ProducerID", "Dir", "TopicID",
}

// key tells what an entry is about: the field and its value, or the entry's place in
// the list.
func (f *flattener) key(v reflect.Value, i int) (about, value string) {
	for _, name := range keys {
		key := v.FieldByName(name)
		switch {
		case !key.IsValid() || key.Kind() == reflect.Pointer && key.IsNil():
			continue
		case name == "TopicID" && v.FieldByName("Topic").IsValid(): // the topic has a name, though not here
			continue
		case name == "Topic" && key.Kind() == reflect.String && key.String() == "" && v.FieldByName("TopicID").IsValid():
			name, key = "TopicID", v.FieldByName("TopicID") // versions that name topics by id
		case name == "ApiKey":
			return name, kmsg.NameForKey(int16(key.Int()))
		}
		text, _ := f.scalar(name, key, reflect.Value{})
		return name, strings.Trim(text, `"`)
	}
	return "", strconv.Itoa(i)
}

// scalar shows a field's value, and says whether it is worth a word.
func (f *flattener) scalar(name string, v, def reflect.Value) (text string, shown bool) {
	if def.IsValid() && quiet(v, def) && !strings.HasSuffix(name, "ErrorCode") {
		return "", false
	}
	if show, ok := natural[name]; ok && show.as != nil {
		text = show.as(f.scene, v)
		return text, text != ""
	}
	return f.scene.show(name, v), true
}

// quiet says whether a value goes without saying: the default, if that is not the
// number 0.
func quiet(v, def reflect.Value) bool {
	if v.CanInt() && def.Int() == 0 {
		return false
	}
	if v.Kind() == reflect.Slice {
		return v.Len() == 0
	}
	return reflect.DeepEqual(v.Interface(), def.Interface())
}

func (s *scene) show(name string, v reflect.Value) string {
	switch {
	case strings.HasSuffix(name, "ErrorCode"):
		return codeName(int16(v.Int()))
	case v.Kind() == reflect.Pointer && v.IsNil():
		return "null"
	case v.Kind() == reflect.Pointer:
		return s.show(name, v.Elem())
	case v.Kind() == reflect.String:
		return strconv.Quote(timeOfDay.ReplaceAllString(s.hide(v.String()), "(time)"))
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	}
	if b, ok := v.Interface().([]byte); ok {
		return hex.EncodeToString(b)
	}
	return s.hide(strings.ReplaceAll(fmt.Sprint(v.Interface()), " ", ","))
}

// timeOfDay is a time inside a text, in milliseconds, and so is the least that there
// can be by Kafka's arithmetic.
var timeOfDay = regexp.MustCompile(`-?[0-9]{13,19}`)

func codeName(code int16) string {
	if code == 0 {
		return "NONE"
	}
	if err, ok := kerr.ErrorForCode(code).(*kerr.Error); ok {
		return err.Message
	}
	return strconv.Itoa(int(code))
}

// defaultsOf is a struct of the same type with its defaults.
func defaultsOf(v reflect.Value) reflect.Value {
	fresh := reflect.New(v.Type())
	if m := fresh.MethodByName("Default"); m.IsValid() {
		m.Call(nil)
	}
	return fresh.Elem()
}
