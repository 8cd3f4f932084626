package kafka

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A script is a case: steps in order.
type script struct {
	name  string
	steps []step
	// accept: fencepost takes any first sequence from a producer that it does not
	// know, as Kafka does.
	accept bool
	// alone: no other script is played beside it. Kafka 4.4 asks its coordinator about
	// several transactions at once, and then words all refusals as for the first of them.
	alone bool
}

// A step is one request. Steps that only prepare are not compared.
type step struct {
	words string
	play  func(s *scene) (kmsg.Response, error)
	learn func(s *scene, resp kmsg.Response) // what later steps need of the answer, if any
	setUp bool
}

// play plays a script on a broker and gives the answers of the steps that count.
func (sc script) play(address string) (answers []answer, err error) {
	s := newScene(address)
	defer s.end()
	for _, st := range sc.steps {
		resp, err := st.play(s)
		s.last = resp
		if err == nil && st.learn != nil {
			st.learn(s, resp)
		}
		if err == nil && s.uncoordinated(resp) {
			err = errUncoordinated
		}
		if err != nil && (st.setUp || errors.Is(err, errSlow) || errors.Is(err, errUncoordinated)) {
			return answers, fmt.Errorf("%s: %w", st.words, err)
		}
		if st.setUp {
			continue
		}
		answers = append(answers, s.answered(s.hide(s.say(st.words)), resp, err))
	}
	return answers, nil
}

// errUncoordinated is a coordinator that is not there for a moment: a Kafka that is too
// busy to report to its controller loses its groups and transactions, and loads them
// again.
var errUncoordinated = errors.New("the broker coordinates no more")

func (s *scene) uncoordinated(resp kmsg.Response) bool {
	return resp != nil && uncoordinated.MatchString(s.answered("", resp, nil).String())
}

var uncoordinated = regexp.MustCompile(`NOT_COORDINATOR|COORDINATOR_LOAD_IN_PROGRESS|COORDINATOR_NOT_AVAILABLE`)

// request is a step that sends a request with the usual header. Names and ids in it
// are those of the script.
func request(words string, make func(s *scene) kmsg.Request) step {
	return requestWith(words, func(*scene) head { name := clientID; return head{client: &name} }, make)
}

func requestWith(words string, header func(s *scene) head, make func(s *scene) kmsg.Request) step {
	return step{words: words, play: func(s *scene) (kmsg.Response, error) {
		req := make(s)
		s.resolve(req)
		return s.exchange(req, header(s))
	}}
}

func (s *scene) exchange(req kmsg.Request, h head) (resp kmsg.Response, err error) {
	c, err := s.conn()
	if err != nil {
		return nil, err
	}
	if s.ahead {
		return nil, s.send(c, req, h)
	}
	if p, ok := req.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
		if err = c.tell(req, h); !errors.Is(err, errSilent) {
			s.cut()
		}
		return nil, err
	}
	if resp, err = c.ask(req, h, s.waitFor(req)); err != nil {
		s.cut()
	}
	return resp, err
}

// waitFor is how long an answer may take: one that never comes in Kafka is not
// waited for long.
func (s *scene) waitFor(req kmsg.Request) time.Duration {
	if p, ok := req.(*kmsg.ProduceRequest); ok {
		for _, t := range p.Topics {
			for _, part := range t.Partitions {
				if part.Records == nil {
					return silence
				}
			}
		}
	}
	return answerPatience
}

// setUp is a step that is not compared.
func setUp(words string, play func(s *scene) error) step {
	return step{words: words, setUp: true, play: func(s *scene) (kmsg.Response, error) { return nil, play(s) }}
}

// prepare makes steps ones that are not compared: other scripts compare their like.
func prepare(steps ...step) []step {
	for i := range steps {
		steps[i].setUp = true
	}
	return steps
}

// on goes on over the connection of this name.
func on(name string) step {
	return setUp("on connection "+name, func(s *scene) error { s.using = name; return nil })
}

// hangUp closes the connection in use, so that the next step goes over a new one.
func hangUp() step {
	return setUp("hang up", func(s *scene) error { s.cut(); return nil })
}

// producer asks for a producer id for each name.
func producer(names ...string) step {
	return setUp("producer "+strings.Join(names, ", "), func(s *scene) error {
		for _, name := range names {
			if err := s.initProducer(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// initProducer asks until there is an id: Kafka fetches ids by the block, and says
// COORDINATOR_LOAD_IN_PROGRESS meanwhile.
func (s *scene) initProducer(name string) error {
	return s.await("producer id", func() (bool, error) {
		resp, err := s.ask(kmsg.NewPtrInitProducerIDRequest())
		if err != nil {
			return false, err
		}
		r := resp.(*kmsg.InitProducerIDResponse)
		s.producers[name] = identity{r.ProducerID, r.ProducerEpoch}
		return r.ErrorCode == 0, nil
	})
}

// coordinated waits until there is a coordinator for a key: Kafka makes a topic of its
// own first.
func coordinated(kind int8, key string) step {
	return setUp(fmt.Sprintf("coordinator of type %d for %q", kind, key), func(s *scene) error {
		return s.await("coordinator", func() (bool, error) {
			r := kmsg.NewPtrFindCoordinatorRequest()
			r.Version, r.CoordinatorType, r.CoordinatorKey = 3, kind, key
			resp, err := s.ask(r)
			return err == nil && resp.(*kmsg.FindCoordinatorResponse).ErrorCode == 0, err
		})
	})
}

// called gives a name to a producer id that nobody was given.
func called(name string, id int64, epoch int16) step {
	return setUp(fmt.Sprintf("%s is producer %d, epoch %d", name, id, epoch), func(s *scene) error {
		s.producers[name] = identity{id, epoch}
		return nil
	})
}

// topic makes a topic and waits until its partitions are led. Configs are KEY=VALUE.
func topic(alias string, partitions int32, configs ...string) step {
	return setUp(fmt.Sprintf("topic %s of %d", alias, partitions), func(s *scene) error {
		r := newTopics(5, spec(alias, partitions, configs...))
		s.resolve(r)
		resp, err := s.ask(r)
		if err != nil {
			return err
		}
		if t := resp.(*kmsg.CreateTopicsResponse).Topics[0]; t.ErrorCode != 0 {
			return fmt.Errorf("CreateTopics answers %s: %s", codeName(t.ErrorCode), *t.ErrorMessage)
		}
		return s.awaitLed(alias, partitions)
	})
}

// led waits until a topic that a step made has this many partitions, and they have
// a leader that knows it: Kafka answers CreateTopics a little earlier.
func led(alias string, partitions int32) step {
	return setUp(fmt.Sprintf("%s is led", alias), func(s *scene) error { return s.awaitLed(alias, partitions) })
}

func (s *scene) awaitLed(alias string, partitions int32) error {
	return s.await(fmt.Sprintf("%s of %d partitions", alias, partitions), func() (bool, error) {
		known, err := s.learn(alias)
		if err != nil || !known {
			return false, err
		}
		r := listOffsetsOf(1, s.name(alias), partitions)
		resp, err := s.ask(r)
		if err != nil {
			return false, err
		}
		for _, p := range resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions {
			if p.ErrorCode != 0 {
				return false, nil
			}
		}
		return true, nil
	})
}

func listOffsetsOf(version int16, topic string, partitions int32) *kmsg.ListOffsetsRequest {
	r := kmsg.NewPtrListOffsetsRequest()
	r.Version, r.ReplicaID = version, -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for i := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = i, -1
		t.Partitions = append(t.Partitions, p)
	}
	r.Topics = append(r.Topics, t)
	return r
}

// learn asks for the topic's id, and says whether the topic is there.
func (s *scene) learn(alias string) (bool, error) {
	r := kmsg.NewPtrMetadataRequest()
	r.Version = 12
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(s.name(alias))
	r.Topics = append(r.Topics, t)
	resp, err := s.ask(r)
	if err != nil {
		return false, err
	}
	told := resp.(*kmsg.MetadataResponse).Topics[0]
	if told.ErrorCode == 0 {
		s.topics[alias] = told.TopicID
	}
	return told.ErrorCode == 0, nil
}

// gone waits until a topic that a step deleted is served no more, and keeps its id
// under another name.
func gone(alias, later string) step {
	return setUp(fmt.Sprintf("%s is gone", alias), func(s *scene) error {
		err := s.await(alias+" gone", func() (bool, error) {
			resp, err := s.ask(listOffsetsOf(1, s.name(alias), 1))
			if err != nil {
				return false, err
			}
			return resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].ErrorCode == unknownTopicOrPartition, nil
		})
		if later != "" {
			s.topics[later] = s.topics[alias]
		}
		delete(s.topics, alias)
		return err
	})
}

const unknownTopicOrPartition = 3

// configured waits until a topic's config has a value.
func configured(alias, key, value string) step {
	return setUp(fmt.Sprintf("%s has %s=%s", alias, key, value), func(s *scene) error {
		return s.await(key, func() (bool, error) {
			r := describing(1, kmsg.ConfigResourceTypeTopic, alias, key)
			s.resolve(r)
			resp, err := s.ask(r)
			if err != nil {
				return false, err
			}
			told := resp.(*kmsg.DescribeConfigsResponse).Resources[0]
			return len(told.Configs) == 1 && told.Configs[0].Value != nil && *told.Configs[0].Value == value, nil
		})
	})
}

// pollEvery is how often something is looked at that comes a little later.
const pollEvery = 20 * time.Millisecond

func (s *scene) await(what string, done func() (bool, error)) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); ; <-tick.C {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("still no %s", what)
		}
	}
}

func words(format string, args ...any) string { return fmt.Sprintf(format, args...) }
