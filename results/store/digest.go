package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
)

const digestKey = "digest"

// Seal returns the text of a JSON object whose first key is a digest of all others. The digest shows whether the text was changed by
// accident or by an editor. It is not a signature: a program can compute the digest of any text.
func Seal(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	_, digest, err := digests(text)
	if err != nil {
		return nil, err
	}
	text = fmt.Appendf(nil, "{%q:%q,%s", digestKey, digest, text[1:])
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", " "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// ErrSchema is wrapped by the error about a text with another schema.
var ErrSchema = errors.New("has schema")

// DecodeSealed reads a text that [Seal] has returned. It refuses another schema, a missing digest, and a text that was changed.
//
// Note: the digest covers the text and not the value, so that a key that a newer zkbench adds does not invalidate older files.
func DecodeSealed(text []byte, schema int, into any) error {
	var head struct {
		Schema *int `json:"schema"`
	}
	switch err := json.Unmarshal(text, &head); {
	case !json.Valid(text):
		return fmt.Errorf("is not complete JSON (truncated, or not written by zkbench): %w", err)
	case err != nil || head.Schema == nil:
		return errors.New("was not written by zkbench: it has no schema number")
	case *head.Schema != schema:
		return fmt.Errorf("%w %d, and this zkbench reads only schema %d: measure again", ErrSchema, *head.Schema, schema)
	}
	given, computed, err := digests(text)
	switch {
	case err != nil:
		return err
	case given == "":
		return errors.New("has no digest, so that a change would not be noticed: measure again")
	case given != computed:
		return errors.New("was changed after zkbench wrote it, as its digest shows: restore the file, or measure again")
	}
	return json.Unmarshal(text, into)
}

// digests returns the digest in a JSON object, and the digest of its other keys: the SHA-256 of its canonical form, which has
// sorted keys, numbers as they are written, and no white space.
func digests(text []byte) (given, computed string, err error) {
	tree, err := parseUnique(text)
	if err != nil {
		return "", "", err
	}
	object, ok := tree.(map[string]any)
	if !ok {
		return "", "", errors.New("is not a JSON object")
	}
	given, _ = object[digestKey].(string)
	delete(object, digestKey)
	canonical, err := json.Marshal(object)
	return given, fmt.Sprintf("sha256:%x", sha256.Sum256(canonical)), err
}

// DecodeStrict reads a JSON text that people write and edit. Unlike encoding/json, it refuses unknown and duplicate keys.
func DecodeStrict(text []byte, into any) error {
	if _, err := parseUnique(text); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// parseUnique returns the tree of a JSON text. It refuses duplicate keys, where encoding/json would silently take the last one.
func parseUnique(text []byte) (any, error) {
	if !json.Valid(text) { // also limits how deep the tree is
		return nil, fmt.Errorf("is not complete JSON: %w", json.Unmarshal(text, new(any)))
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return parseValue(decoder)
}

// parseValue returns the next value of a valid text, whose tokens have no errors.
func parseValue(d *json.Decoder) (value any, err error) {
	token, _ := d.Token()
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() && err == nil {
			value, err = parseValue(d)
			list = append(list, value)
		}
		value = list
	case json.Delim('{'):
		object := map[string]any{}
		for d.More() && err == nil {
			token, _ := d.Token()
			key, _ := token.(string)
			if _, known := object[key]; known {
				return nil, fmt.Errorf("has the key %q twice", key)
			}
			object[key], err = parseValue(d)
		}
		value = object
	default:
		return token, nil
	}
	_, _ = d.Token() // the closing bracket
	return value, err
}
