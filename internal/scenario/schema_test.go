package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/fencepostmq/fencepost/internal/fault"
)

// object is a schema, or a part of one.
type object = map[string]any

// schema is the embedded schema.
func schema(t testing.TB) object {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(Schema))
	d.UseNumber()
	var s object
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

// part goes down into a schema by its keys; a number is an index.
func part(t testing.TB, s object, path ...any) object {
	t.Helper()
	var at any = s
	for _, step := range path {
		switch step := step.(type) {
		case string:
			at = at.(object)[step]
		case int:
			at = at.([]any)[step]
		}
	}
	p, ok := at.(object)
	if !ok {
		t.Fatalf("the schema has no %v", path)
	}
	return p
}

// keywords says for each keyword of a schema what is wrong with a value, "" if
// nothing is. Those that say nothing about a value are nil.
var keywords map[string]func(s object, rule, v any) string

func init() {
	keywords = map[string]func(s object, rule, v any) string{
		"$schema": nil, "$id": nil, "title": nil, "description": nil, "examples": nil,
		"type": checkType, "enum": checkEnum, "minimum": checkMinimum, "maximum": checkMaximum,
		"minLength": checkMinLength, "maxLength": checkMaxLength, "pattern": checkPattern,
		"properties": checkProperties, "additionalProperties": checkAdditional, "required": checkRequired,
		"items": checkItems, "maxItems": checkMaxItems, "anyOf": checkAnyOf,
	}
}

// violation says what is wrong with a value by a schema, "" if nothing is.
func violation(s object, v any) string {
	for word, rule := range s {
		check, known := keywords[word]
		if !known {
			panic("the schema has the keyword " + word + ", which this test does not know")
		}
		if check == nil {
			continue
		}
		if wrong := check(s, rule, v); wrong != "" {
			return wrong
		}
	}
	return ""
}

// kind is the name of a value's type in a schema.
func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case object:
		return "object"
	default:
		if n := number(v); n != nil && n.IsInt() {
			return "integer"
		}
		return "number"
	}
}

// number is a value as a number, nil if it is none or infinite.
func number(v any) *big.Rat {
	n, ok := new(big.Rat).SetString(fmt.Sprint(v))
	if _, isText := v.(string); isText || !ok {
		return nil
	}
	return n
}

func checkType(_ object, rule, v any) string {
	types, several := rule.([]any)
	if !several {
		types = []any{rule}
	}
	is := kind(v)
	if slices.Contains(types, any(is)) || is == "integer" && slices.Contains(types, any("number")) {
		return ""
	}
	return fmt.Sprintf("%v is %s, not %v", v, is, rule)
}

func checkEnum(_ object, rule, v any) string {
	for _, word := range rule.([]any) {
		if reflect.DeepEqual(word, v) {
			return ""
		}
	}
	return fmt.Sprintf("%v is none of %v", v, rule)
}

func checkMinimum(_ object, rule, v any) string {
	if n := number(v); n != nil && n.Cmp(number(rule)) < 0 {
		return fmt.Sprintf("%v is less than %v", v, rule)
	}
	return ""
}

func checkMaximum(_ object, rule, v any) string {
	if n := number(v); n != nil && n.Cmp(number(rule)) > 0 {
		return fmt.Sprintf("%v is more than %v", v, rule)
	}
	return ""
}

func checkMinLength(_ object, rule, v any) string {
	if text, ok := v.(string); ok && utf8.RuneCountInString(text) < limit(rule) {
		return fmt.Sprintf("%q is too short", text)
	}
	return ""
}

func checkMaxLength(_ object, rule, v any) string {
	if text, ok := v.(string); ok && utf8.RuneCountInString(text) > limit(rule) {
		return fmt.Sprintf("%q is too long", text)
	}
	return ""
}

func checkMaxItems(_ object, rule, v any) string {
	if list, ok := v.([]any); ok && len(list) > limit(rule) {
		return fmt.Sprintf("%d items", len(list))
	}
	return ""
}

func limit(rule any) int { return int(number(rule).Num().Int64()) }

func checkPattern(_ object, rule, v any) string {
	if text, ok := v.(string); ok && !regexp.MustCompile(rule.(string)).MatchString(text) {
		return fmt.Sprintf("%q does not match %s", text, rule)
	}
	return ""
}

func checkProperties(_ object, rule, v any) string {
	fields, _ := v.(object)
	for name, s := range rule.(object) {
		if field, there := fields[name]; there {
			if wrong := violation(s.(object), field); wrong != "" {
				return name + ": " + wrong
			}
		}
	}
	return ""
}

func checkAdditional(s object, rule, v any) string {
	known, _ := s["properties"].(object)
	fields, _ := v.(object)
	for name, field := range fields {
		if _, there := known[name]; there {
			continue
		}
		if rule == false {
			return "unknown key " + name
		}
		if wrong := violation(rule.(object), field); wrong != "" {
			return name + ": " + wrong
		}
	}
	return ""
}

func checkRequired(_ object, rule, v any) string {
	fields, ok := v.(object)
	for _, name := range rule.([]any) {
		if _, there := fields[name.(string)]; ok && !there {
			return "no " + name.(string)
		}
	}
	return ""
}

func checkItems(_ object, rule, v any) string {
	list, _ := v.([]any)
	for _, item := range list {
		if wrong := violation(rule.(object), item); wrong != "" {
			return wrong
		}
	}
	return ""
}

func checkAnyOf(_ object, rule, v any) string {
	var all []string
	for _, s := range rule.([]any) {
		wrong := violation(s.(object), v)
		if wrong == "" {
			return ""
		}
		all = append(all, wrong)
	}
	return strings.Join(all, ", and ")
}

func TestViolation_knows_each_keyword(t *testing.T) {
	for _, c := range []struct{ schema, good, bad string }{
		{`{"type": "integer"}`, `3`, `3.5`},
		{`{"type": "integer"}`, `3`, `"3"`},
		{`{"type": "number"}`, `3`, `true`},
		{`{"type": ["array", "null"]}`, `null`, `{}`},
		{`{"enum": ["a", "b"]}`, `"b"`, `"c"`},
		{`{"minimum": 1}`, `1`, `0`},
		{`{"maximum": 18446744073709551615}`, `18446744073709551615`, `18446744073709551616`},
		{`{"minLength": 2}`, `"äö"`, `"ä"`},
		{`{"maxLength": 2}`, `"äö"`, `"äöü"`},
		{`{"maxItems": 1}`, `[1]`, `[1, 2]`},
		{`{"pattern": "^a+$"}`, `"aa"`, `"ab"`},
		{`{"properties": {"a": {"type": "null"}}}`, `{"a": null, "b": 1}`, `{"a": 1}`},
		{`{"properties": {"a": {}}, "additionalProperties": false}`, `{"a": 1}`, `{"b": 1}`},
		{`{"properties": {"a": {}}, "additionalProperties": {"type": "null"}}`, `{"a": 1, "b": null}`, `{"b": 1}`},
		{`{"required": ["a"]}`, `{"a": 1}`, `{"b": 1}`},
		{`{"items": {"type": "null"}}`, `[null]`, `[null, 1]`},
		{`{"anyOf": [{"type": "null"}, {"enum": ["a"]}]}`, `"a"`, `"b"`},
	} {
		if wrong := violation(decode(t, c.schema).(object), decode(t, c.good)); wrong != "" {
			t.Errorf("%s refuses %s: %s", c.schema, c.good, wrong)
		}
		if violation(decode(t, c.schema).(object), decode(t, c.bad)) == "" {
			t.Errorf("%s takes %s", c.schema, c.bad)
		}
	}
}

// decode reads JSON with its numbers as they are.
func decode(t testing.TB, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSchema_takes_the_good_files(t *testing.T) {
	for _, file := range files(t, "good") {
		var v any
		if err := yaml.Unmarshal(bytes.TrimPrefix(read(t, file), []byte("\ufeff")), &v); err != nil {
			t.Errorf("%s: %v", file, err)
		} else if wrong := violation(schema(t), v); wrong != "" {
			t.Errorf("%s: %s", file, wrong)
		}
	}
}

// beyondSchema are the bad files with nothing wrong that a schema could see.
var beyondSchema = []string{
	"seed-hexadecimal", "seed-with-leading-zero", // numbers to YAML
	"topic-twice", "tag",
	"fault-bad-word", "fault-bad-word-over-lines", "fault-bad-word-in-quotes", "fault-bad-word-behind-escape",
	"fault-bad-word-in-block", "fault-bad-word-behind-letters", "fault-bad-word-behind-tabs", "fault-with-comma-in-brackets",
	"fault-name-twice",
	"two-documents", "two-documents-by-dots", // the first is looked at
	"merge-key", "empty-lines", "not-utf-8",
}

func TestSchema_refuses_the_bad_files(t *testing.T) {
	for _, file := range files(t, "bad") {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		var v any
		if yaml.Unmarshal(read(t, file), &v) != nil {
			continue // no YAML, or none that says one thing
		}
		wrong := violation(schema(t), v)
		if beyond := slices.Contains(beyondSchema, name); beyond != (wrong == "") {
			t.Errorf("%s: beyond the schema is %v, but the schema says %q", name, beyond, wrong)
		}
	}
}

func TestSchema_examples_are_valid_and_can_be_parsed(t *testing.T) {
	s := schema(t)
	found := checkExamples(t, s, func(v any) any { return v })
	for name := range part(t, s, "properties") {
		found += checkExamples(t, part(t, s, "properties", name), func(v any) any { return object{name: v} })
	}
	found += checkExamples(t, part(t, s, "properties", "faults", "items"), func(v any) any {
		return object{"faults": []any{v}}
	})
	found += checkExamples(t, part(t, s, "properties", "topics", "items", "anyOf", 1, "properties", "configs"), func(v any) any {
		return object{"topics": []any{object{"name": "a", "configs": v}}}
	})
	if want := strings.Count(string(Schema), `"examples"`); found != want {
		t.Errorf("looked at %d lists of examples of %d", found, want)
	}
}

// checkExamples checks the examples of a part of the schema, each made a whole
// file by wrap, and counts the lists of them: one or none.
func checkExamples(t *testing.T, s object, wrap func(any) any) int {
	t.Helper()
	examples, ok := s["examples"].([]any)
	if !ok {
		return 0
	}
	for _, example := range examples {
		if wrong := violation(s, example); wrong != "" {
			t.Errorf("%v: %s", example, wrong)
		}
		text, err := json.Marshal(wrap(example))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("example", text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	return 1
}

// kebab is the name of a struct's field as a file has it.
func kebab(field string) string {
	var b strings.Builder
	for i, r := range field {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// schemaTypes is the type that a schema gives to the field of each Go type.
var schemaTypes = map[reflect.Type]any{
	reflect.TypeFor[*uint64]():           "integer",
	reflect.TypeFor[int]():               "integer",
	reflect.TypeFor[string]():            "string",
	reflect.TypeFor[[]Topic]():           []any{"array", "null"},
	reflect.TypeFor[[]fault.Rule]():      []any{"array", "null"},
	reflect.TypeFor[map[string]string](): []any{"object", "null"},
}

// checkInStep compares the keys and types of a struct, of the table that reads
// it, and of the schema.
func checkInStep(t *testing.T, fields reflect.Type, table []string, properties object) {
	t.Helper()
	var names []string
	for i := range fields.NumField() {
		f := fields.Field(i)
		name := kebab(f.Name)
		names = append(names, name)
		p, ok := properties[name].(object)
		if !ok {
			t.Errorf("the schema has no %s", name)
			continue
		}
		got := p["type"]
		if _, words := p["enum"]; words {
			got = "string"
		}
		if want := schemaTypes[f.Type]; !reflect.DeepEqual(got, want) || want == nil {
			t.Errorf("the schema has the type %v for %s %s", got, name, f.Type)
		}
	}
	if diff := cmp.Diff(names, table); diff != "" {
		t.Errorf("the struct and the table differ:\n%s", diff)
	}
	if len(properties) != len(names) {
		t.Errorf("the schema has %d keys, the struct %d", len(properties), len(names))
	}
}

func TestSchema_is_in_step_with_the_struct(t *testing.T) {
	s := schema(t)
	checkInStep(t, reflect.TypeFor[Scenario](), namesOf(fileFields), part(t, s, "properties"))
	checkInStep(t, reflect.TypeFor[Topic](), namesOf(topicFields),
		part(t, s, "properties", "topics", "items", "anyOf", 1, "properties"))
}

func TestSchema_is_in_step_with_the_words_and_limits(t *testing.T) {
	s := part(t, schema(t), "properties")
	for _, c := range []struct {
		what string
		got  any
		want any
	}{
		{"expect", part(t, s, "expect")["enum"], []any{ExactlyOnce, Nothing}},
		{"unknown-producer", part(t, s, "unknown-producer")["enum"], []any{Refuse, Accept}},
		{"identity", part(t, s, "identity", "anyOf", 0)["enum"], []any{IdentityKey, IdentityValue}},
		{"identity", part(t, s, "identity", "anyOf", 1)["pattern"], "^" + IdentityHeader + ".+"},
		{"seed", part(t, s, "seed")["minimum"], json.Number("0")},
		{"seed", part(t, s, "seed")["maximum"], json.Number(fmt.Sprint(uint64(math.MaxUint64)))},
		{"faults", part(t, s, "faults")["maxItems"], json.Number(fmt.Sprint(fault.MaxRules))},
		{"a fault", part(t, s, "faults", "items")["maxLength"], json.Number(fmt.Sprint(fault.MaxSentence))},
		{"partitions", part(t, s, "topics", "items", "anyOf", 1, "properties", "partitions")["minimum"], json.Number("1")},
		{"partitions", part(t, s, "topics", "items", "anyOf", 1, "properties", "partitions")["maximum"], json.Number(fmt.Sprint(MaxPartitions))},
		{"the schema", schema(t)["$schema"], "https://json-schema.org/draft/2020-12/schema"},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s:\n%s", c.what, diff)
		}
	}
	pattern := regexp.MustCompile(part(t, s, "topics", "items", "anyOf", 0)["pattern"].(string))
	for _, partitions := range []int{-1, 0, 1, 9, 10, 999, 1000, 9999, MaxPartitions, MaxPartitions + 1, 10 * MaxPartitions} {
		topic := fmt.Sprintf("a:%d", partitions)
		_, err := Parse("", fmt.Appendf(nil, "topics: [%q]", topic))
		if got := pattern.MatchString(topic); got != (err == nil) {
			t.Errorf("the schema takes %s: %v; Parse says %v", topic, got, err)
		}
	}
}
