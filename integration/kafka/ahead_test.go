package kafka

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A waiting request is one whose answer is read by a later step.
type waiting struct {
	on    *conn
	req   kmsg.Request
	words string
	learn func(s *scene, resp kmsg.Response)
}

// moment is how long a request that waits for others is watched: it must not be
// answered meanwhile, and the broker has it before the next one.
const moment = 250 * time.Millisecond

// ahead sends a request over the connection of this name, and sees that the broker
// lets it wait. The step answerTo reads the answer.
func ahead(name string, st step) step {
	return setUp("over "+name+": "+st.words, func(s *scene) error {
		using := s.using
		s.using, s.ahead = name, true
		_, err := st.play(s)
		s.using, s.ahead = using, false
		if err != nil {
			return err
		}
		request := s.waits[name]
		request.words, request.learn = st.words, st.learn
		s.waits[name] = request
		if !request.on.silentFor(moment) {
			return errors.New("it does not wait for others")
		}
		return nil
	})
}

// send sends a request over the connection in use.
func (s *scene) send(c *conn, req kmsg.Request, h head) error {
	if _, busy := s.waits[s.using]; busy {
		return fmt.Errorf("connection %q has a request that waits already", s.using)
	}
	s.waits[s.using] = waiting{on: c, req: req}
	c.send(req, h)
	return nil
}

// silentFor says whether nothing is read for so long.
func (c *conn) silentFor(d time.Duration) bool {
	c.SetReadDeadline(time.Now().Add(d)) //nolint:errcheck // a connection of TCP has deadlines
	_, err := c.r.Peek(1)
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// answerTo is the answer to the request that was sent ahead over this connection.
func answerTo(name string) step {
	return step{words: "answer to " + name, play: func(s *scene) (kmsg.Response, error) {
		request, ok := s.waits[name]
		if !ok {
			return nil, fmt.Errorf("nothing was sent ahead over %q", name)
		}
		delete(s.waits, name)
		s.said = request.words + ", which waited"
		resp, err := request.on.answer(request.req, answerPatience)
		if err == nil && request.learn != nil {
			request.learn(s, resp)
		}
		return resp, err
	}}
}

// say is what a step is called: an answer has the words of its request.
func (s *scene) say(words string) string {
	if s.said != "" {
		words, s.said = s.said, ""
	}
	return words
}
