package kafka

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A scene is one play of a script on one broker. Topics and transactional ids have
// names of the scene's own there, so that many scripts can be played on one broker,
// in any order.
type scene struct {
	address string
	prefix  string    // of every name
	base    time.Time // what times of records are counted from

	conns     map[string]*conn // the one that is used unless said is ""
	using     string
	producers map[string]identity
	topics    map[string][16]byte // every topic that was made, also under its older ids
	sessions  map[string]*session // of fetching
	members   map[string]member   // of groups
	last      kmsg.Response

	ahead bool               // the next request is not waited for
	waits map[string]waiting // requests that wait for their answers, by connection
	said  string             // the words of the request that is answered now, if it was sent ahead
}

// An identity is what InitProducerId gave.
type identity struct {
	id    int64
	epoch int16
}

// age is how far the times of records lie back: further than a broker's own clock
// can be mistaken for, and nearer than any limit.
const age = 5 * time.Hour

func newScene(address string) *scene {
	return &scene{
		address: address, prefix: fmt.Sprintf("k%07x-", rand.Uint32N(1<<28)), base: time.Now().Add(-age).Truncate(time.Millisecond),
		conns: map[string]*conn{}, producers: map[string]identity{}, topics: map[string][16]byte{}, sessions: map[string]*session{},
		members: map[string]member{}, waits: map[string]waiting{},
	}
}

// conn is the connection in use, made anew if it was cut.
func (s *scene) conn() (*conn, error) {
	if c := s.conns[s.using]; c != nil {
		return c, nil
	}
	c, err := dial(s.address)
	if err != nil {
		return nil, err
	}
	s.conns[s.using] = c
	return c, nil
}

// cut ends the connection in use.
func (s *scene) cut() {
	if c := s.conns[s.using]; c != nil {
		c.Close()
		delete(s.conns, s.using)
	}
}

// end closes all connections, and takes the topics away.
func (s *scene) end() {
	s.using = "end"
	r := kmsg.NewPtrDeleteTopicsRequest()
	r.Version, r.TimeoutMillis = 5, 10_000
	for _, alias := range slices.Sorted(maps.Keys(s.topics)) {
		r.TopicNames = append(r.TopicNames, s.name(alias))
	}
	if len(r.TopicNames) > 0 {
		s.ask(r) //nolint:errcheck // it may have been deleted
	}
	for _, c := range s.conns {
		c.Close()
	}
}

// ask sends a request as it is.
func (s *scene) ask(req kmsg.Request) (kmsg.Response, error) {
	c, err := s.conn()
	if err != nil {
		return nil, err
	}
	name := clientID
	resp, err := c.ask(req, head{client: &name}, answerPatience)
	if err != nil {
		s.cut()
	}
	return resp, err
}

// verbatim marks a name in a script that is sent as it is.
const verbatim = "="

// name is what a topic or transactional id of the script is called on the broker.
func (s *scene) name(alias string) string {
	if plain, ok := strings.CutPrefix(alias, verbatim); ok {
		return plain
	}
	return s.prefix + alias
}

// hide takes the scene's own prefix and the members' ids out of a text.
func (s *scene) hide(text string) string {
	for name, m := range s.members {
		if m.drawn() {
			text = strings.ReplaceAll(text, m.id, "("+name+")")
		}
	}
	return strings.ReplaceAll(text, s.prefix, "")
}

// idOf stands in a script for the present id of a topic. What it stands for is
// found when the request is sent; one that no topic of the script has is sent as
// it is.
func idOf(alias string) (id [16]byte) {
	sum := sha256.Sum256([]byte(alias))
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x40
	return id
}

// madeUp is the id of no topic.
var madeUp = idOf("(made up)")

func (s *scene) id(stands [16]byte) [16]byte {
	for alias, id := range s.topics {
		if idOf(alias) == stands {
			return id
		}
	}
	return stands
}

// resolve replaces the script's names and ids by the broker's in a request.
func (s *scene) resolve(req kmsg.Request) {
	s.resolveValue(reflect.ValueOf(req).Elem(), "")
}

func (s *scene) resolveValue(v reflect.Value, field string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				s.resolveValue(v.Field(i), s.fieldName(v, i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			s.resolveValue(v.Index(i), field)
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if named[field] { // others may hold the same pointer
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(v.Elem())
			v.Set(p)
		}
		s.resolveValue(v.Elem(), field)
	case reflect.String:
		if named[field] {
			v.SetString(s.name(v.String()))
		}
	case reflect.Array:
		if id, ok := v.Interface().([16]byte); ok && id != [16]byte{} {
			v.Set(reflect.ValueOf(s.id(id)))
		}
	}
}

// named are the fields of requests that hold names of the script.
var named = map[string]bool{
	"Topic": true, "Topics": true, "TopicNames": true, "ResourceName": true, "TransactionalID": true, "TransactionID": true,
	"TransactionalIDs": true, "Group": true, "Groups": true, "SubscribedTopicNames": true,
}

// fieldName is the name of a field, "" for the name of a resource that is no topic.
func (s *scene) fieldName(v reflect.Value, i int) string {
	name := v.Type().Field(i).Name
	if kind := v.FieldByName("ResourceType"); name == "ResourceName" && kind.IsValid() && kind.Int() != int64(kmsg.ConfigResourceTypeTopic) {
		return ""
	}
	return name
}
