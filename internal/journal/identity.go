package journal

import (
	"fmt"
	"strings"

	"github.com/fencepostmq/fencepost/internal/wire"
)

// An Identity names the part of a record that makes two records the same one.
// With an identity, every one that stands at two offsets is a duplicate; with
// none, the zero value, it takes evidence that a record was sent again.
type Identity struct {
	part   identityPart
	header string
}

type identityPart uint8

const (
	identityNone identityPart = iota
	identityKey
	identityValue
	identityHeader
)

// Identities that take no name.
var (
	IdentityNone  = Identity{}
	IdentityKey   = Identity{part: identityKey}
	IdentityValue = Identity{part: identityValue}
)

// IdentityHeader is the value of a record's header with this name; of several,
// the first.
func IdentityHeader(name string) Identity {
	return Identity{part: identityHeader, header: name}
}

// ParseIdentity reads none, key, value or header=NAME. The empty text is none.
func ParseIdentity(text string) (Identity, error) {
	switch text {
	case "", "none":
		return IdentityNone, nil
	case "key":
		return IdentityKey, nil
	case "value":
		return IdentityValue, nil
	}
	if name, ok := strings.CutPrefix(text, "header="); ok && name != "" {
		return IdentityHeader(name), nil
	}
	return IdentityNone, fmt.Errorf("identity %q: want none, key, value or header=NAME", text)
}

// String is the text that ParseIdentity reads.
func (id Identity) String() string {
	switch id.part {
	case identityKey:
		return "key"
	case identityValue:
		return "value"
	case identityHeader:
		return "header=" + id.header
	}
	return "none"
}

// MarshalText is String, for JSON.
func (id Identity) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText is ParseIdentity, for JSON.
func (id *Identity) UnmarshalText(text []byte) (err error) {
	*id, err = ParseIdentity(string(text))
	return err
}

// of is the record's identity, nil if it has none.
func (id Identity) of(r *wire.Record) []byte {
	switch id.part {
	case identityKey:
		return r.Key
	case identityValue:
		return r.Value
	case identityHeader:
		for i := range r.Headers {
			if r.Headers[i].Key == id.header {
				return r.Headers[i].Value
			}
		}
	}
	return nil
}

// lack says in words what a record without the identity does not have.
func (id Identity) lack() string {
	if id.part == identityHeader {
		return fmt.Sprintf("header %q", id.header)
	}
	return id.String()
}
