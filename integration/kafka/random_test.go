package kafka

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

const (
	// mostOperations is the greatest length of a drawn sequence, and fewOperations less
	// than their average: short ones are drawn more often.
	mostOperations = 200
	fewOperations  = 50
	// spareChecks make up for a few sequences that are shorter than usual.
	spareChecks = 20
	// partitionsPerCheck is how many partitions a sequence goes to.
	partitionsPerCheck = 2
	// arenaPartitions is how many partitions a topic has, of which each sequence takes
	// its own: topics take a broker far longer than partitions.
	arenaPartitions = 100
)

// TestRandom plays drawn sequences of produces and trims on fencepost and on a live
// Kafka: equal answers, and equal logs and producers in the end. A sequence that
// differs is shrunk.
func TestRandom(t *testing.T) {
	address := live(t)
	if address == "" {
		t.Skip("FENCEPOST_KAFKA=HOST:PORT, or start, says which Kafka to ask")
	}
	a := &arena{kafka: newScene(address), ours: newScene(ours(t, "accept")), codes: map[string]int{}}
	defer a.end()
	t.Logf("rapid.seed=%d", seeded(t, *operations/fewOperations+spareChecks))
	rapid.Check(t, func(rt *rapid.T) {
		at := a.next(rt)
		ops := drawOperations(rt, at)
		rt.Logf("%s", strings.Join(told(ops), "\n"))
		a.compare(rt, ops)
		a.compare(rt, at.inspect())
		a.compareLogs(rt, at)
	})
	if !t.Failed() && a.played < *operations {
		t.Errorf("%d operations were compared, and %d should be", a.played, *operations)
	}
	t.Logf("%d operations compared with Apache Kafka %s, in %d topics of %d partitions: %v", a.played, version, a.topics, arenaPartitions, a.codes)
}

// seeded sets the seed, which rapid tells only of failures, and the number of
// checks.
func seeded(t *testing.T, checks int) uint64 {
	seed := rand.Uint64()
	if given := flag.Lookup("rapid.seed").Value.String(); given != "0" {
		seed, _ = strconv.ParseUint(given, 10, 64)
	}
	for name, value := range map[string]string{"rapid.seed": fmt.Sprint(seed), "rapid.checks": fmt.Sprint(checks)} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	return seed
}

func told(ops []operation) (all []string) {
	for i, o := range ops {
		all = append(all, fmt.Sprintf("%3d %s", i+1, o.words))
	}
	return all
}

// An arena is the two brokers, and the partitions that are left for sequences.
type arena struct {
	kafka, ours *scene
	topics      int // made so far; the present one is named after it
	left        int32
	played      int
	codes       map[string]int // answers by their error code
}

func (a *arena) end() {
	a.kafka.end()
	a.ours.end()
}

// A ground is where one sequence plays.
type ground struct {
	topic string
	from  int32
}

// next takes partitions that nobody wrote to.
func (a *arena) next(rt *rapid.T) ground {
	if a.left < partitionsPerCheck {
		a.topics++
		a.left = arenaPartitions
		for _, s := range []*scene{a.kafka, a.ours} {
			if err := a.renew(s); err != nil {
				rt.Fatalf("%s: %v", s.address, err)
			}
		}
	}
	a.left -= partitionsPerCheck
	return ground{a.topic(), a.left}
}

func (a *arena) topic() string { return fmt.Sprintf("r%d", a.topics) }

// renew makes the next topic in place of the one before.
func (a *arena) renew(s *scene) error {
	r := kmsg.NewPtrDeleteTopicsRequest()
	r.Version, r.TimeoutMillis = 5, 10_000
	for alias := range s.topics {
		r.TopicNames = append(r.TopicNames, s.name(alias))
		delete(s.topics, alias)
	}
	if _, err := s.ask(r); err != nil {
		return err
	}
	for i, name := range drawnProducers {
		s.producers[name] = identity{madeUpProducers + int64(i), 0}
	}
	_, err := topic(a.topic(), arenaPartitions).play(s)
	return err
}

// compare plays on both.
func (a *arena) compare(rt *rapid.T, ops []operation) {
	kafka, ours := a.both(rt, func(s *scene) ([]answer, error) { return pipeline(s, ops) })
	a.equal(rt, kafka, ours)
	a.played += len(ops)
	for _, k := range kafka {
		a.codes[k.code()]++
	}
}

// code is the error code of an answer about one partition.
func (a answer) code() string {
	for _, f := range a.parts[len(a.parts)-1].fields {
		if f.name == "ErrorCode" {
			return f.value
		}
	}
	return "none"
}

// compareLogs reads all that there is on both.
func (a *arena) compareLogs(rt *rapid.T, at ground) {
	for i := range int32(partitionsPerCheck) {
		where := fmt.Sprintf("%s-%d", at.topic, at.from+i)
		kafka, ours := a.both(rt, func(s *scene) ([]answer, error) {
			resp, err := s.wholeLog(where)
			return []answer{s.answered("the whole log of "+where, resp, nil)}, err
		})
		a.equal(rt, kafka, ours)
	}
}

// both does the same with both at once.
func (a *arena) both(rt *rapid.T, do func(s *scene) ([]answer, error)) (kafka, ours []answer) {
	var both sync.WaitGroup
	var kafkaErr, oursErr error
	both.Go(func() { kafka, kafkaErr = do(a.kafka) })
	both.Go(func() { ours, oursErr = do(a.ours) })
	both.Wait()
	if kafkaErr != nil || oursErr != nil {
		rt.Fatalf("Kafka: %v, fencepost: %v", kafkaErr, oursErr)
	}
	return kafka, ours
}

func (a *arena) equal(rt *rapid.T, kafka, ours []answer) {
	for i := range kafka {
		if unlisted, _ := sift("at random", kafka[i].step, differ(kafka[i], ours[i])); len(unlisted) > 0 {
			rt.Fatalf("operation %d: %s\n%s", i+1, kafka[i].step, strings.Join(unlisted, "\n"))
		}
	}
}

// wholeLog fetches until there is no more, and gives all in one answer: where a fetch
// stops is the broker's affair.
func (s *scene) wholeLog(at string) (*kmsg.FetchResponse, error) {
	resp, err := s.askResolved(listing(s, 7, []offsetAsked{byTime(at, -2)}))
	if err != nil {
		return nil, err
	}
	offset := resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0].Offset
	var whole *kmsg.FetchResponse
	for {
		resp, err := s.askResolved(fetchRequest(usualFetch, []fetched{from(at, offset)}))
		if err != nil {
			return nil, err
		}
		more := resp.(*kmsg.FetchResponse)
		if whole == nil {
			whole = more
		} else {
			all := &whole.Topics[0].Partitions[0]
			all.RecordBatches = append(all.RecordBatches, more.Topics[0].Partitions[0].RecordBatches...)
		}
		before := offset
		if offset = after(offset, more.Topics[0].Partitions[0].RecordBatches); offset == before || offset >= more.Topics[0].Partitions[0].HighWatermark {
			return whole, nil
		}
	}
}

// after is the offset behind the last whole batch.
func after(offset int64, records []byte) int64 {
	for b := next(records); b != nil; b = next(records) {
		read := readOne(b)
		offset, records = read.FirstOffset+int64(read.LastOffsetDelta)+1, records[len(b):]
	}
	return offset
}

func (s *scene) askResolved(req kmsg.Request) (kmsg.Response, error) {
	s.resolve(req)
	return s.ask(req)
}

// pipeline sends all requests over one connection without waiting, and reads the
// answers.
func pipeline(s *scene, ops []operation) (answers []answer, err error) {
	c, err := s.conn()
	if err != nil {
		return nil, err
	}
	name, first := clientID, c.correlation+1
	requests := make([]kmsg.Request, len(ops))
	var all []byte
	for i, o := range ops {
		requests[i] = o.request(s)
		s.resolve(requests[i])
		c.correlation++
		all = append(all, frame(requests[i], c.correlation, head{client: &name})...)
	}
	var writing sync.WaitGroup
	writing.Go(func() { c.write(all) })
	defer writing.Wait()
	for i, o := range ops {
		b, err := c.read(answerPatience)
		if err != nil {
			s.cut()
			return nil, fmt.Errorf("operation %d, %s: %w", i+1, o.words, err)
		}
		resp, err := decode(requests[i], b, first+int32(i))
		answers = append(answers, s.answered(o.words, resp, err))
	}
	return answers, nil
}
