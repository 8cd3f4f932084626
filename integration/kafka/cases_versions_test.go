package kafka

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Versions, headers, and bytes that are no request.
var versionScripts = []script{
	{name: "versions and what a client calls itself", steps: []step{
		hello(0, "", ""), hello(1, "", ""), hello(2, "", ""), hello(3, "name", "1.0"), hello(4, "name", "1.0"),
		hello(3, "", ""), hello(3, "-bad-", "1"), hello(3, "name", "-1"), hello(3, "a b", "1"), hello(3, "ok.ok-1", "a.b-c"), hello(3, "x", ""),
		hello(3, strings.Repeat("x", 1000), "1"), hello(4, "ä", "1"),
	}},
	{name: "versions of ApiVersions that there are not", steps: []step{
		rawRequest("ApiVersions v6", 18, 6, kmsg.StringPtr("x"), 0, 1, 1, 0), rawRequest("ApiVersions v99", 18, 99, kmsg.StringPtr("x")),
		rawRequest("ApiVersions v-1", 18, -1, kmsg.StringPtr("x")), rawRequest("ApiVersions v32767", 18, 32767, nil, 0),
	}},
	{name: "versions that there are not", steps: []step{
		rawRequest("Produce v99", 0, 99, kmsg.StringPtr("x"), 0), rawRequest("Produce v-1", 0, -1, kmsg.StringPtr("x"), 0),
		rawRequest("Produce v14", 0, 14, kmsg.StringPtr("x"), 0), rawRequest("Fetch v3", 1, 3, kmsg.StringPtr("x"), 0),
		rawRequest("Fetch v19", 1, 19, kmsg.StringPtr("x"), 0), rawRequest("ListOffsets v0", 2, 0, kmsg.StringPtr("x"), 0),
		rawRequest("ListOffsets v12", 2, 12, kmsg.StringPtr("x"), 0), rawRequest("Metadata v14", 3, 14, kmsg.StringPtr("x"), 0),
		rawRequest("CreateTopics v1", 19, 1, kmsg.StringPtr("x"), 0), rawRequest("CreateTopics v8", 19, 8, kmsg.StringPtr("x"), 0),
		rawRequest("DeleteTopics v0", 20, 0, kmsg.StringPtr("x"), 0), rawRequest("DeleteRecords v3", 21, 3, kmsg.StringPtr("x"), 0),
		rawRequest("InitProducerId v6", 22, 6, kmsg.StringPtr("x"), 0), rawRequest("FindCoordinator v7", 10, 7, kmsg.StringPtr("x"), 0),
		rawRequest("DescribeProducers v1", 61, 1, kmsg.StringPtr("x"), 0), rawRequest("CreatePartitions v4", 37, 4, kmsg.StringPtr("x"), 0),
		rawRequest("DescribeConfigs v0", 32, 0, kmsg.StringPtr("x"), 0), rawRequest("OffsetForLeaderEpoch v1", 23, 1, kmsg.StringPtr("x"), 0),
	}},
	{name: "APIs that there are not", steps: []step{
		rawRequest("key 999", 999, 0, kmsg.StringPtr("x")), rawRequest("key -1", -1, 0, kmsg.StringPtr("x")), rawRequest("key 32767", 32767, 0, nil),
		rawRequest("LeaderAndIsr", 4, 0, kmsg.StringPtr("x")), rawRequest("key 95", 95, 0, kmsg.StringPtr("x")),
	}},
	{name: "frames of odd lengths", steps: []step{
		raw("length 0", []byte{0, 0, 0, 0}), raw("length -1", []byte{0xff, 0xff, 0xff, 0xff}), raw("length greatest", []byte{0x7f, 0xff, 0xff, 0xff}),
		raw("length least", []byte{0x80, 0, 0, 0}), raw("length 4", []byte{0, 0, 0, 4, 1, 2, 3, 4}), raw("length 8", []byte{0, 0, 0, 8, 0, 18, 0, 0, 0, 0, 0, 7}),
		raw("length 9", []byte{0, 0, 0, 9, 0, 18, 0, 0, 0, 0, 0, 7, 0}), raw("length 7", []byte{0, 0, 0, 7, 0, 18, 0, 0, 0, 0, 0}),
		raw("an HTTP request", []byte("GET / HTTP/1.1\r\n\r\n")), raw("a TLS hello", []byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}),
	}},
	{name: "what a client calls itself in the header", steps: []step{
		withClient("no name", nil, epochsOfNobody), withClient("an empty name", kmsg.StringPtr(""), epochsOfNobody),
		withClient("a long name", kmsg.StringPtr(strings.Repeat("c", 10_000)), epochsOfNobody), withClient("an odd name", kmsg.StringPtr("a b\n\x00"), epochsOfNobody),
		withClient("the longest name", kmsg.StringPtr(strings.Repeat("c", 32767)), epochsOfNobody),
		rawRequest("no name at all", 18, 0, nil), raw("a name beyond the end", []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0, 99}),
		raw("a name of length -5", []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xfb}),
	}},
	{name: "tags in the header", steps: []step{
		withTags("one unknown tag", []byte{1, 9, 2, 7, 7}, epochsOfNobody), withTags("two unknown tags", []byte{2, 9, 0, 200, 1, 1, 5}, epochsOfNobody),
		withTags("tags in the wrong order", []byte{2, 9, 0, 3, 0}, epochsOfNobody), withTags("a tag twice", []byte{2, 9, 0, 9, 0}, epochsOfNobody),
		withTags("a tag beyond the end", []byte{1, 9, 0xff, 0xff, 3}, epochsOfNobody), withTags("endless tags", []byte{0xff, 0xff, 0xff, 0xff, 0x0f}, epochsOfNobody),
	}},
	{name: "bodies that lie", steps: []step{
		rawRequest("Metadata v1 of -2 topics", 3, 1, kmsg.StringPtr("x"), 0xff, 0xff, 0xff, 0xfe), rawRequest("Metadata v1 of too many topics", 3, 1, kmsg.StringPtr("x"), 0x7f, 0xff, 0xff, 0xff),
		rawRequest("Metadata v1 that ends early", 3, 1, kmsg.StringPtr("x"), 0, 0, 0, 1, 0), rawRequest("Metadata v1 of a name of -1", 3, 1, kmsg.StringPtr("x"), 0, 0, 0, 1, 0xff, 0xff),
		rawRequest("ListOffsets v1 of nothing", 2, 1, kmsg.StringPtr("x")), rawRequest("Produce v3 of too many topics", 0, 3, kmsg.StringPtr("x"), 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff),
		rawRequest("Produce v3 of -1 topics", 0, 3, kmsg.StringPtr("x"), 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff),
		rawRequest("Fetch v4 that ends early", 1, 4, kmsg.StringPtr("x"), 0xff, 0xff, 0xff, 0xff, 0, 0),
		rawRequest("ApiVersions v0 with bytes behind", 18, 0, kmsg.StringPtr("x"), 1, 2, 3),
		rawRequest("InitProducerId v0 with bytes behind", 22, 0, kmsg.StringPtr("x"), 0xff, 0xff, 0, 0, 0, 9, 1, 2, 3),
		rawRequest("ApiVersions v3 with a negative length", 18, 3, kmsg.StringPtr("x"), 0, 0xff, 0xff, 0xff, 0xff, 0x0f),
	}},
}

// hello is an ApiVersions.
func hello(version int16, name, software string) step {
	return request(words("ApiVersions v%d of %s %q", version, short(name), software), func(*scene) kmsg.Request {
		r := kmsg.NewPtrApiVersionsRequest()
		r.Version, r.ClientSoftwareName, r.ClientSoftwareVersion = version, name, software
		return r
	})
}

// epochsOfNobody is a small request with a flexible header whose answer is the same
// everywhere.
func epochsOfNobody(*scene) kmsg.Request {
	return listOffsetsOf(7, "nosuch", 1)
}
