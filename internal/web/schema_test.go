package web

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A schema is a JSON Schema as openapi.yaml uses it: a part of the language, and
// a check that fails where it meets another part.
type schema map[string]any

var known = []string{"type", "required", "properties", "items", "enum", "minimum", "allOf", "oneOf", "$ref", "description", "format", "default"}

// check says what is wrong with a value that was read from JSON or YAML. What a
// schema does not describe is wrong, too.
func (d *description) check(s schema, value any, at string) error {
	s = d.whole(s)
	for key := range s {
		if !slices.Contains(known, key) {
			return fmt.Errorf("%s: the schema says %q, which this check does not know", at, key)
		}
	}
	if choices, ok := s["oneOf"].([]any); ok {
		return d.checkOneOf(choices, value, at)
	}
	if err := checkType(s["type"], value, at); err != nil {
		return err
	}
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, value) {
		return fmt.Errorf("%s is %v, want one of %v", at, value, enum)
	}
	if low, ok := s["minimum"]; ok && number(value) < number(low) {
		return fmt.Errorf("%s is %v, want at least %v", at, value, low)
	}
	switch v := value.(type) {
	case map[string]any:
		return d.checkObject(s, v, at)
	case []any:
		for i, item := range v {
			if err := d.check(asSchema(s["items"]), item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *description) checkOneOf(choices []any, value any, at string) error {
	var wrong []string
	for _, c := range choices {
		if err := d.check(asSchema(c), value, at); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if len(choices)-len(wrong) != 1 {
		return fmt.Errorf("%s: %d of %d schemas hold, want one: %s", at, len(choices)-len(wrong), len(choices), strings.Join(wrong, "; "))
	}
	return nil
}

func (d *description) checkObject(s schema, v map[string]any, at string) error {
	properties := asSchema(s["properties"])
	for _, name := range asList(s["required"]) {
		if _, ok := v[name.(string)]; !ok {
			return fmt.Errorf("%s: %q is required, and missing", at, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		p, ok := properties[name]
		if !ok {
			return fmt.Errorf("%s: %q is not described", at, name)
		}
		if err := d.check(asSchema(p), v[name], at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// whole follows references and joins what stands under allOf.
func (d *description) whole(s schema) schema {
	if ref, ok := s["$ref"].(string); ok {
		return d.whole(d.find(ref))
	}
	parts, ok := s["allOf"].([]any)
	if !ok {
		return s
	}
	joined := schema{"type": "object", "properties": map[string]any{}, "required": []any{}}
	for _, p := range parts {
		part := d.whole(asSchema(p))
		maps.Copy(joined["properties"].(map[string]any), asSchema(part["properties"]))
		joined["required"] = append(asList(joined["required"]), asList(part["required"])...)
	}
	return joined
}

func checkType(want, value any, at string) error {
	names := asList(want)
	if name, ok := want.(string); ok {
		names = []any{name}
	}
	for _, name := range names {
		if name == typeOf(value) {
			return nil
		}
	}
	return fmt.Errorf("%s is %v, want %v", at, value, want)
}

func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	default:
		if n := number(v); n == float64(int64(n)) {
			return "integer"
		}
		return "number"
	}
}

func number(v any) float64 {
	switch n := v.(type) {
	case float64:
		return n
	case uint64:
		return float64(n)
	case int64:
		return float64(n)
	case int:
		return float64(n)
	}
	return 0
}

func asSchema(v any) schema {
	m, _ := v.(map[string]any)
	return m
}

func asList(v any) []any {
	l, _ := v.([]any)
	return l
}
