package kafka

import (
	"encoding/hex"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// raw sends bytes as they are over a connection of their own. An answer is shown by
// its first bytes.
func raw(what string, b []byte) step {
	return step{words: "bytes: " + what, play: func(s *scene) (kmsg.Response, error) {
		c, err := dial(s.address)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		c.write(b)
		got, err := c.read(silence)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("answers %s", hex.EncodeToString(got[:min(len(got), shownBytes)]))
	}}
}

// shownBytes is how much of an answer that is not decoded is shown: the correlation
// id and an error code.
const shownBytes = 6

// rawRequest is a header of any kind with a body of bytes.
func rawRequest(what string, key, version int16, client *string, rest ...byte) step {
	return raw(what, sized(append(header(key, version, 7, client), rest...)))
}

// withClient is a request of a client that calls itself so.
func withClient(what string, client *string, make func(s *scene) kmsg.Request) step {
	return requestWith(what, func(*scene) head { return head{client: client} }, make)
}

// withTags is a request with tags in its header.
func withTags(what string, tags []byte, make func(s *scene) kmsg.Request) step {
	return requestWith(what, func(*scene) head { return head{client: kmsg.StringPtr(clientID), tags: tags} }, make)
}
