package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// shape compares a JSON text with a Go type more strictly than encoding/json does. It refuses duplicate keys and negative
// numbers, null, missing parts and unknown parts.
//
// Note: encoding/json takes the last of two equal keys, matches keys in any case, and leaves missing parts zero. With each of
// these, a document would be read differently than it looks.
type shape struct {
	decoder  *json.Decoder
	problems problems
	fields   map[reflect.Type]map[string]reflect.StructField // cache of fieldsOf
}

// mayBeNegative reports whether a leaf may be below zero: a share that is unknown, differences of the counters of servers,
// which restart at zero, and the recovery of a fault that has none.
func mayBeNegative(path string) bool {
	return slices.Contains([]string{"health.machine_cpu", "oracle.server_notifications", "oracle.server_transactions"}, path) ||
		strings.HasPrefix(path, "failure.faults[") && strings.HasSuffix(path, "].recovery_ns")
}

// shapeProblems returns the differences between a valid JSON text and a type.
func shapeProblems(text []byte, t reflect.Type) (problems, error) {
	s := shape{decoder: json.NewDecoder(bytes.NewReader(text)), fields: map[reflect.Type]map[string]reflect.StructField{}}
	s.decoder.UseNumber()
	err := s.value(t, "")
	return s.problems, err
}

// DecodeStrict reads a JSON text into the value to which a pointer leads. Unlike encoding/json, it refuses unknown, missing and
// duplicate parts, null, and negative numbers.
func DecodeStrict(text []byte, into any) error {
	if !json.Valid(text) {
		return fmt.Errorf("is no complete JSON (truncated, or not written by zkbench): %w", json.Unmarshal(text, new(any)))
	}
	found, err := shapeProblems(text, reflect.TypeOf(into))
	if err = cmp.Or(err, found.err()); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// value reads one value and compares it with the type. The type is nil inside unknown parts, where only duplicate keys are
// problems.
func (s *shape) value(t reflect.Type, path string) error {
	token, err := s.decoder.Token()
	if err != nil {
		return err
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch token := token.(type) {
	case json.Delim:
		if token == '[' {
			return s.list(t, path)
		}
		return s.object(t, path)
	case nil:
		s.problems.unless(t == nil, "%s is null", path)
	case string:
		s.problems.unless(t == nil || t.Kind() == reflect.String || isTime(t), "%s wants %s, not a text", path, wanted(t))
	case bool:
		s.problems.unless(t == nil || t.Kind() == reflect.Bool, "%s wants %s, not true or false", path, wanted(t))
	case json.Number:
		s.number(token.String(), t, path)
	}
	return nil
}

// wanted returns the kind of JSON value that a type is decoded from.
func wanted(t reflect.Type) string {
	switch {
	case t == nil:
		return "nothing"
	case isTime(t):
		return "a time"
	}
	kinds := map[reflect.Kind]string{
		reflect.Map: "an object", reflect.Struct: "an object", reflect.Slice: "a list", reflect.String: "a text", reflect.Bool: "true or false",
	}
	return cmp.Or(kinds[t.Kind()], "a number")
}

func isTime(t reflect.Type) bool { return t == reflect.TypeFor[time.Time]() }

func (s *shape) number(text string, t reflect.Type, path string) {
	if t == nil {
		return
	}
	value, err := strconv.ParseFloat(text, 64)
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		_, err = strconv.ParseInt(text, 10, 64)
	case reflect.Uint64:
		_, err = strconv.ParseUint(text, 10, 64)
	case reflect.Float64:
	default:
		s.problems.unless(false, "%s wants %s, not a number", path, wanted(t))
		return
	}
	s.problems.unless(err == nil && !math.IsInf(value, 0), "%s is %s, which is no number of its kind", path, text)
	s.problems.unless(value >= 0 || mayBeNegative(path), "%s is negative (%s)", path, text)
}

func (s *shape) list(t reflect.Type, path string) error {
	var element reflect.Type
	if t != nil && t.Kind() == reflect.Slice {
		element = t.Elem()
	}
	s.problems.unless(t == nil || element != nil, "%s wants %s, not a list", path, wanted(t))
	for i := 0; s.decoder.More(); i++ {
		if err := s.value(element, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	_, err := s.decoder.Token()
	return err
}

func (s *shape) object(t reflect.Type, path string) error {
	isObject := t != nil && (t.Kind() == reflect.Map || t.Kind() == reflect.Struct && !isTime(t))
	s.problems.unless(t == nil || isObject, "%s wants %s, not an object", path, wanted(t))
	fields := s.fieldsOf(t)
	seen := map[string]bool{}
	for s.decoder.More() {
		token, err := s.decoder.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		at := strings.TrimPrefix(path+"."+key, ".")
		s.problems.unless(!seen[key], "%s stands there twice", at)
		seen[key] = true
		f, known := fields[key]
		s.problems.unless(known || !isObject || t.Kind() == reflect.Map, "%s is unknown", at)
		if isObject && t.Kind() == reflect.Map {
			f.Type = t.Elem()
		}
		if err := s.value(f.Type, at); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		_, options, _ := strings.Cut(fields[name].Tag.Get("json"), ",")
		s.problems.unless(seen[name] || options == "omitempty", "%s is missing", strings.TrimPrefix(path+"."+name, "."))
	}
	_, err := s.decoder.Token()
	return err
}

// fieldsOf returns the fields of a struct by their keys in JSON. Other types have none.
func (s *shape) fieldsOf(t reflect.Type) map[string]reflect.StructField {
	if fields, known := s.fields[t]; known {
		return fields
	}
	fields := map[string]reflect.StructField{}
	s.fields[t] = fields
	if t == nil || t.Kind() != reflect.Struct || isTime(t) {
		return fields
	}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if t.Field(i).Anonymous && name == "" {
			maps.Copy(fields, s.fieldsOf(t.Field(i).Type))
			continue
		}
		if name != "-" {
			fields[name] = t.Field(i)
		}
	}
	return fields
}
