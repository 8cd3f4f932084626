package broker

import (
	"encoding/base64"
	"fmt"
	"math"
	"net"
	"testing"

	"github.com/fencepostmq/fencepost/internal/wire"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// metadataOf asks for topics by name, and for no new ones; without names it asks
// for none.
func metadataOf(version int16, names ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.Topics = version, []kmsg.MetadataRequestTopic{}
	for _, name := range names {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{Topic: &name})
	}
	return req
}

// metadataOfIDs asks for topics by id.
func metadataOfIDs(version int16, ids ...[16]byte) *kmsg.MetadataRequest {
	req := metadataOf(version)
	for _, id := range ids {
		req.Topics = append(req.Topics, kmsg.MetadataRequestTopic{TopicID: id})
	}
	return req
}

// allTopics asks for all topics, as the version does.
func allTopics(version int16) *kmsg.MetadataRequest {
	req := metadataOf(version)
	if version > 0 {
		req.Topics = nil
	}
	return req
}

// topicsTold lists the topics of an answer as "name code partitions".
func topicsTold(resp kmsg.Response) []string {
	told := []string{}
	for _, t := range resp.(*kmsg.MetadataResponse).Topics {
		told = append(told, fmt.Sprintf("%s %s %d", text(t.Topic), codeName(t.ErrorCode), len(t.Partitions)))
	}
	return told
}

// everyVersion calls do for each served version of an API.
func everyVersion(t *testing.T, key kmsg.Key, do func(t *testing.T, version int16)) {
	api, _ := wire.Lookup(int16(key))
	for version := api.Min; version <= api.Max; version++ {
		t.Run(fmt.Sprintf("version %d", version), func(t *testing.T) { do(t, version) })
	}
}

func TestMetadata_WhichTopics(t *testing.T) {
	n, c := startWith(t, "b", "a")
	n.make("c", 3, nil)
	everyVersion(t, kmsg.Metadata, func(t *testing.T, version int16) {
		all := []string{"a NONE 2", "b NONE 2", "c NONE 3"}
		want(t, "all", topicsTold(c.ask(allTopics(version))), all)
		if version == 0 {
			return // an empty list asks for all
		}
		want(t, "none", topicsTold(c.ask(metadataOf(version))), []string{})
		want(t, "by name", topicsTold(c.ask(metadataOf(version, "c", "a"))), []string{"c NONE 3", "a NONE 2"})
		want(t, "by a name twice", topicsTold(c.ask(metadataOf(version, "a", "c", "a"))), []string{"a NONE 2", "c NONE 3"})
		want(t, "an unknown one beside", topicsTold(c.ask(metadataOf(max(version, 4), "x", "a"))),
			[]string{"x UNKNOWN_TOPIC_OR_PARTITION 0", "a NONE 2"})
	})
}

func TestMetadata_OfATopicIsWhole(t *testing.T) {
	n, c := startWith(t, "there")
	resp := c.ask(metadataOf(newest(t, kmsg.Metadata), "there")).(*kmsg.MetadataResponse)
	wanted := kmsg.NewMetadataResponseTopic()
	wanted.Topic, wanted.TopicID = kmsg.StringPtr("there"), n.id("there")
	for i := range int32(2) {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch = i, NodeID, 0
		p.Replicas, p.ISR = []int32{NodeID}, []int32{NodeID}
		wanted.Partitions = append(wanted.Partitions, p)
	}
	opts := cmp.Options{cmpopts.IgnoreTypes(kmsg.Tags{}), cmpopts.EquateEmpty()}
	if diff := cmp.Diff([]kmsg.MetadataResponseTopic{wanted}, resp.Topics, opts); diff != "" {
		t.Errorf("topics (- wanted, + got):\n%s", diff)
	}
}

// A controller id of -1 makes most admin clients fail, and confluent-kafka-python
// crashes without a cluster id.
func TestMetadata_NamesALiveControllerAndTheCluster(t *testing.T) {
	c := start(t, Options{Seed: 7}).dial()
	resp := c.ask(allTopics(newest(t, kmsg.Metadata))).(*kmsg.MetadataResponse)
	want(t, "brokers", len(resp.Brokers), 1)
	want(t, "controller", resp.ControllerID, resp.Brokers[0].NodeID)
	want(t, "rack", resp.Brokers[0].Rack, nil)
	if id, err := base64.RawURLEncoding.DecodeString(text(resp.ClusterID)); err != nil || len(id) != 16 {
		t.Errorf("cluster id %q is no UUID as Kafka writes one: %v", text(resp.ClusterID), err)
	}
}

func TestMetadata_ByID(t *testing.T) {
	n, c := startWith(t, "a", "b")
	unknown := [16]byte{1}
	for version := int16(12); version <= newest(t, kmsg.Metadata); version++ {
		t.Run(fmt.Sprintf("version %d", version), func(t *testing.T) {
			want(t, "two", topicsTold(c.ask(metadataOfIDs(version, n.id("b"), n.id("a")))), []string{"b NONE 2", "a NONE 2"})
			want(t, "one twice", topicsTold(c.ask(metadataOfIDs(version, n.id("b"), n.id("b")))), []string{"b NONE 2"})

			resp := c.ask(metadataOfIDs(version, unknown)).(*kmsg.MetadataResponse)
			want(t, "an unknown one", topicsTold(resp), []string{"null UNKNOWN_TOPIC_ID 0"})
			want(t, "the id comes back", resp.Topics[0].TopicID, unknown)
		})
	}
}

// A request that names one topic by id is answered for its ids alone.
func TestMetadata_ByIDAndByName(t *testing.T) {
	n, c := startWith(t, "a", "b", "c")
	a := kmsg.MetadataRequestTopic{TopicID: n.id("a")}
	both := kmsg.MetadataRequestTopic{TopicID: n.id("a"), Topic: kmsg.StringPtr("b")}
	name := kmsg.MetadataRequestTopic{Topic: kmsg.StringPtr("c")}
	neither := kmsg.MetadataRequestTopic{}
	for what, topics := range map[string][]kmsg.MetadataRequestTopic{
		"the id counts where a name stands beside it": {both},
		"a name is passed over before an id":          {name, a},
		"a name is passed over behind an id":          {a, name},
		"neither is passed over":                      {neither, a, neither},
	} {
		t.Run(what, func(t *testing.T) {
			for version := int16(12); version <= newest(t, kmsg.Metadata); version++ {
				req := metadataOf(version)
				req.Topics, req.AllowAutoTopicCreation = topics, true
				want(t, "told", topicsTold(c.ask(req)), []string{"a NONE 2"})
			}
		})
	}
}

func TestMetadata_OfATopicThatIsNotNamedIsAnErrorAsAWhole(t *testing.T) {
	n, c := startWith(t, "a", "b")
	a := kmsg.MetadataRequestTopic{TopicID: n.id("a")}
	both := kmsg.MetadataRequestTopic{TopicID: n.id("a"), Topic: kmsg.StringPtr("b")}
	name := kmsg.MetadataRequestTopic{Topic: kmsg.StringPtr("b")}
	neither := kmsg.MetadataRequestTopic{}
	for _, tt := range []struct {
		name        string
		first, last int16 // version
		topics      []kmsg.MetadataRequestTopic
		code        string
	}{
		{"by id, before that could be asked", 10, 11, []kmsg.MetadataRequestTopic{a}, "INVALID_REQUEST"},
		{"by id twice", 10, 11, []kmsg.MetadataRequestTopic{a, a}, "INVALID_REQUEST"},
		{"by id and name", 10, 11, []kmsg.MetadataRequestTopic{both}, "INVALID_REQUEST"},
		{"by id beside a name", 10, 11, []kmsg.MetadataRequestTopic{name, a}, "INVALID_REQUEST"},
		{"by neither", 12, newest(t, kmsg.Metadata), []kmsg.MetadataRequestTopic{neither}, "UNKNOWN_SERVER_ERROR"},
		{"by neither beside a name", 12, newest(t, kmsg.Metadata), []kmsg.MetadataRequestTopic{name, neither}, "UNKNOWN_SERVER_ERROR"},
	} {
		for version := tt.first; version <= tt.last; version++ {
			t.Run(fmt.Sprintf("%s, version %d", tt.name, version), func(t *testing.T) {
				req := metadataOf(version)
				req.Topics, req.IncludeTopicAuthorizedOperations = tt.topics, true
				resp := c.ask(req).(*kmsg.MetadataResponse)
				wanted := kmsg.NewPtrMetadataResponse()
				wanted.Version = version
				for _, asked := range tt.topics {
					told := kmsg.NewMetadataResponseTopic()
					told.Topic, told.TopicID, told.ErrorCode = kmsg.StringPtr(""), asked.TopicID, codeOf(tt.code)
					if asked.Topic != nil {
						told.Topic = asked.Topic
					}
					wanted.Topics = append(wanted.Topics, told)
				}
				if version >= 13 {
					wanted.ErrorCode = codeOf(tt.code)
				}
				opts := cmp.Options{cmpopts.IgnoreTypes(kmsg.Tags{}), cmpopts.EquateEmpty()}
				if diff := cmp.Diff(wanted, resp, opts); diff != "" {
					t.Errorf("told (- wanted, + got):\n%s", diff)
				}
			})
		}
	}
}

// codeOf is the error code of this name.
func codeOf(name string) int16 {
	for code := int16(-1); ; code++ {
		if codeName(code) == name {
			return code
		}
	}
}

func TestMetadata_AuthorizedOperations(t *testing.T) {
	n, c := startWith(t, "there")
	const none = math.MinInt32
	everyVersion(t, kmsg.Metadata, func(t *testing.T, version int16) {
		for _, asked := range []bool{true, false} {
			req := metadataOf(version, "there", "missing", "no such")
			req.IncludeTopicAuthorizedOperations, req.IncludeClusterAuthorizedOperations = asked, asked
			resp := c.ask(req).(*kmsg.MetadataResponse)
			cluster, topics := int32(none), []int32{none, none, none}
			if asked && version >= 8 {
				topics = []int32{3576, 3576, 3576}
			}
			if asked && version >= 8 && version <= 10 {
				cluster = 8096
			}
			want(t, fmt.Sprintf("on the cluster, asked for: %v", asked), resp.AuthorizedOperations, cluster)
			want(t, fmt.Sprintf("on topics, asked for: %v", asked), allowedOn(resp), topics)
		}
	})

	req := metadataOfIDs(12, n.id("there"), [16]byte{9})
	req.IncludeTopicAuthorizedOperations = true
	want(t, "on an id that nobody knows", allowedOn(c.ask(req).(*kmsg.MetadataResponse)), []int32{3576, none})
}

func allowedOn(resp *kmsg.MetadataResponse) (all []int32) {
	for _, topic := range resp.Topics {
		all = append(all, topic.AuthorizedOperations)
	}
	return all
}

func TestMetadata_IDsAreStableAndEachTopicsOwn(t *testing.T) {
	n, c := startWith(t, "a", "b")
	told := c.ask(allTopics(12)).(*kmsg.MetadataResponse).Topics
	again := c.ask(allTopics(12)).(*kmsg.MetadataResponse).Topics
	for i := range told {
		want(t, "id", again[i].TopicID, told[i].TopicID)
		want(t, "name of the id", n.TopicName(told[i].TopicID), text(told[i].Topic))
	}
	if told[0].TopicID == told[1].TopicID || told[0].TopicID == [16]byte{} {
		t.Errorf("ids %x and %x", told[0].TopicID, told[1].TopicID)
	}
	want(t, "name of an unknown id", n.TopicName([16]byte{9}), "")
	want(t, "names", n.Topics(), []string{"a", "b"})
}

func TestNew_SameSeedSameIDs(t *testing.T) {
	ids := func(seed uint64) []any {
		b := New(Options{Seed: seed})
		if err := b.CreateTopic("a", 1, nil); err != nil {
			t.Fatal(err)
		}
		return []any{b.clusterID, b.lookup("a").id}
	}
	want(t, "ids of the same seed", ids(3), ids(3))
	if cmp.Equal(ids(3), ids(4)) {
		t.Error("two seeds give the same ids")
	}
}

func TestMetadata_MakesTopicsOnFirstUse(t *testing.T) {
	for _, tt := range []struct {
		name          string
		option, allow bool
		want          string
	}{
		{"with the option and the flag", true, true, "new NONE 3"},
		{"with the option, the flag refuses", true, false, "new UNKNOWN_TOPIC_OR_PARTITION 0"},
		{"without the option, the flag asks", false, true, "new UNKNOWN_TOPIC_OR_PARTITION 0"},
		{"with neither", false, false, "new UNKNOWN_TOPIC_OR_PARTITION 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			everyVersion(t, kmsg.Metadata, func(t *testing.T, version int16) {
				c := start(t, Options{AutoCreate: tt.option, Partitions: 3}).dial()
				req := metadataOf(version, "new")
				req.AllowAutoTopicCreation = tt.allow
				expected := tt.want
				if version < 4 && tt.option { // it always allows
					expected = "new NONE 3"
				}
				want(t, "first answer", topicsTold(c.ask(req)), []string{"new UNKNOWN_TOPIC_OR_PARTITION 0"})
				req.AllowAutoTopicCreation = false
				want(t, "second answer", topicsTold(c.ask(req)), []string{expected})
			})
		})
	}
}

func TestMetadata_MakesNoTopicOfABadName(t *testing.T) {
	n := start(t, Options{AutoCreate: true})
	n.make("col.a", 1, nil)
	c := n.dial()
	for _, tt := range []struct{ name, topic, want string }{
		{"a space", "bad name", "INVALID_TOPIC_EXCEPTION"},
		{"nothing", "", "INVALID_TOPIC_EXCEPTION"},
		{"a dot", ".", "INVALID_TOPIC_EXCEPTION"},
		{"250 characters", fmt.Sprintf("%0250d", 0), "INVALID_TOPIC_EXCEPTION"},
		{"a collision", "col_a", "UNKNOWN_TOPIC_OR_PARTITION"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, allow := range []bool{true, false} {
				req := metadataOf(newest(t, kmsg.Metadata), tt.topic)
				req.AllowAutoTopicCreation = allow
				want(t, "told", topicsTold(c.ask(req)), []string{tt.topic + " " + tt.want + " 0"})
			}
		})
	}
	want(t, "topics", n.Topics(), []string{"col.a"})
}

func TestMetadata_ByIDMakesNothing(t *testing.T) {
	n := start(t, Options{AutoCreate: true})
	req := metadataOfIDs(12, [16]byte{5})
	req.AllowAutoTopicCreation = true
	n.dial().ask(req)
	want(t, "topics", n.Topics(), nil)
}

func TestMetadata_TellsAnAddressThatTheClientCanReach(t *testing.T) {
	n := start(t, Options{})
	address := func(c *client) (string, int32) {
		b := c.ask(metadataOf(newest(t, kmsg.Metadata))).(*kmsg.MetadataResponse).Brokers[0]
		return b.Host, b.Port
	}

	host, port := address(n.dialAs(wire.Advertised{Host: "kafka.example", Port: 29092}))
	want(t, "the advertised address", []any{host, port}, []any{"kafka.example", int32(29092)})

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go n.server.Serve(l, wire.Advertised{}) //nolint:errcheck // ends with the server
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	c := n.dial()
	c.conn = conn
	host, port = address(c)
	want(t, "the address connected to", []any{host, port}, []any{"127.0.0.1", int32(l.Addr().(*net.TCPAddr).Port)})
}

// librdkafka writes a count of four bytes where one is due when it asks for all
// topics, which leaves three stray bytes behind the body.
func TestMetadata_IgnoresStrayBytesBehindTheBody(t *testing.T) {
	_, c := startWith(t, "there")
	req := allTopics(9)
	c.correlation++
	frame := append(c.format.AppendRequest(nil, req, c.correlation), 0, 0, 0)
	frame[3] += 3
	if _, err := c.conn.Write(frame); err != nil {
		t.Fatal(err)
	}
	want(t, "told", topicsTold(c.receive(req)), []string{"there NONE 2"})
}
