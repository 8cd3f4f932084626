package histories

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
)

// A plan is what a seed decides before a history begins. What an actor decides
// on the way it draws from a generator of its own, so that nobody's luck depends
// on who came first.
type plan struct {
	seed       uint64
	partitions int32
	rules      []string
	weather    time.Duration // how long rules are in force and connections are cut
	producers  []producerPlan
	consumers  int
	trims      int
	verdicts   int
	record     bool // operations, to be checked for linearizability
}

// A kind is what sort of client a producer is.
type kind int

const (
	// idempotent retries as the Java client does (KIP-98, KIP-360).
	idempotent kind = iota
	// plain has no producer id and sends again whatever was not answered.
	plain
	// unanswered asks for no acknowledgement and never sends again.
	unanswered
	// careless has a producer id, one request in flight, and takes its sequence
	// back after an error that is not retriable, as a widely used client does.
	careless
)

func (k kind) String() string {
	return [...]string{"idempotent", "plain", "unanswered", "careless"}[k]
}

type producerPlan struct {
	name     string
	kind     kind
	version  int16 // of Produce
	inFlight int
	records  int
	batch    int           // most records of one
	hasty    bool          // sends on behind a batch that it sends again, so that the broker may forget that one
	patience time.Duration // before a request counts as lost
	cuts     float64       // chance that a connection is cut
	killed   time.Duration // when it dies and is begun anew, 0 for never
	resends  bool          // its successor sends again what was not acknowledged
}

// generator is an actor's source of chance.
func (p *plan) generator(actor string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(actor))
	return rand.New(rand.NewPCG(p.seed, h.Sum64()))
}

// drawPlan makes the plan of a seed: everything at once.
func drawPlan(seed uint64) plan {
	p := plan{seed: seed}
	r := p.generator("plan")
	p.partitions = 1 + r.Int32N(3)
	p.weather = time.Duration(1+r.IntN(20)) * time.Second
	p.consumers, p.verdicts = r.IntN(3), r.IntN(3)
	if r.IntN(3) == 0 {
		p.trims = 1 + r.IntN(4)
	}
	for i := range 1 + r.IntN(4) {
		p.producers = append(p.producers, drawProducer(r, i, kind(pick(r, 6, 3, 1, 1))))
	}
	for range r.IntN(5) {
		p.rules = append(p.rules, drawRule(r, p.partitions))
	}
	return p
}

// pick draws a place, each with its weight.
func pick(r *rand.Rand, weights ...int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	n := r.IntN(total)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	panic("weights add up")
}

// oneOf draws an element.
func oneOf[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

func drawProducer(r *rand.Rand, number int, k kind) producerPlan {
	p := producerPlan{
		name: fmt.Sprintf("p%d", number), kind: k, version: oneOf[int16](r, 3, 7, 8, 9, 11, 12),
		inFlight: 1 + r.IntN(5), records: 5 + r.IntN(40), batch: 1 + r.IntN(4),
		patience: time.Duration(oneOf(r, 50, 300, 2000)) * time.Millisecond,
		cuts:     oneOf(r, 0, 0, 0.2, 0.5),
		hasty:    r.IntN(4) == 0,
	}
	if k == careless {
		p.inFlight, p.batch = 1, 1
	}
	if r.IntN(4) == 0 {
		p.killed, p.resends = time.Duration(1+r.IntN(oneOf(r, 30, 30, 2000)))*time.Millisecond, r.IntN(2) == 0
	}
	return p
}

// The codes that rules tell: retriable ones, ones that end a batch, and those of
// the lesson.
var (
	retriableCodes = []string{"NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "UNKNOWN_TOPIC_OR_PARTITION", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"}
	fatalCodes     = []string{"INVALID_RECORD", "MESSAGE_TOO_LARGE", "TOPIC_AUTHORIZATION_FAILED"}
	lessonCodes    = []string{"OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH"}
)

// drawRule makes a fault sentence: any verb, place, match and schedule.
func drawRule(r *rand.Rand, partitions int32) string {
	codes := append(append(append([]string{}, retriableCodes...), fatalCodes...), lessonCodes...)
	return sentence(r, partitions, codes)
}

func sentence(r *rand.Rand, partitions int32, codes []string) string {
	api := []string{"produce", "fetch", "list_offsets", "init_producer_id", "delete_records"}[pick(r, 12, 2, 2, 2, 1)]
	if api != "produce" {
		codes = retriableCodes[:2]
	}
	verb := oneOf(r, "drop", "disconnect", "error "+oneOf(r, codes...), "delay "+drawDelay(r), "delay "+drawDelay(r)+", disconnect")
	place := oneOf(r, "before", "after")
	words := []string{verb, place, api}
	if api == "produce" {
		words = append(words, drawMatch(r, partitions, place)...)
	}
	return strings.Join(append(words, drawSchedule(r)...), " ")
}

// drawDelay is rarely longer than anybody waits for.
func drawDelay(r *rand.Rand) string {
	return []string{"1ms", "40ms", "400ms", "5s", "1h"}[pick(r, 4, 4, 4, 2, 1)]
}

func drawMatch(r *rand.Rand, partitions int32, place string) []string {
	switch pick(r, 4, 3, 1, 1, 1, 1, 1) {
	case 1:
		return []string{oneOf(r, "attempt=1", "attempt=2", "attempt=1..2")}
	case 2:
		return []string{fmt.Sprintf("partition=%d", r.Int32N(partitions))}
	case 3:
		return []string{"client=" + oneOf(r, "p0", "p1", "p*")}
	case 4:
		return []string{fmt.Sprintf("sequence=%d..%d", r.IntN(5), 5+r.IntN(20))}
	case 5:
		return []string{fmt.Sprintf("producer=%d", oneOf(r, -1, 1000, 1001))}
	case 6:
		if place == "after" {
			return []string{fmt.Sprintf("offset=%d..%d", r.IntN(10), 10+r.IntN(30))}
		}
	}
	return nil
}

func drawSchedule(r *rand.Rand) []string {
	switch r.IntN(5) {
	case 0:
		return []string{fmt.Sprintf("nth=%d", 1+r.IntN(8))}
	case 1:
		return []string{fmt.Sprintf("nth=%d", 1+r.IntN(4)), fmt.Sprintf("times=%d", 1+r.IntN(4))}
	case 2:
		return []string{fmt.Sprintf("every=%d", 2+r.IntN(5)), "times=all"}
	case 3:
		return []string{fmt.Sprintf("chance=%d%%", 5+r.IntN(40)), "times=all"}
	}
	return []string{fmt.Sprintf("times=%d", 1+r.IntN(3))}
}

// drawCut decides where a connection breaks.
func drawCut(r *rand.Rand, chance float64) cut {
	c := uncut
	if r.IntN(4) == 0 {
		c.chop = 1 + r.IntN(300)
	}
	if r.Float64() >= chance {
		return c
	}
	if r.IntN(2) == 0 {
		c.sent = 1 + r.IntN(1500)
	} else {
		c.read = 1 + r.IntN(400)
	}
	return c
}

// String tells what was planned, for whoever has to find out why a history
// failed.
func (p *plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "partitions %d, weather %s, consumers %d, trims %d, verdicts %d\n", p.partitions, p.weather, p.consumers, p.trims, p.verdicts)
	for _, r := range p.rules {
		fmt.Fprintf(&b, "rule %s\n", r)
	}
	for _, c := range p.producers {
		fmt.Fprintf(&b, "%s %s, version %d, %d in flight, %d records, %d a batch, waits %s", c.name, c.kind, c.version, c.inFlight, c.records, c.batch, c.patience)
		if c.hasty {
			b.WriteString(", hasty")
		}
		if c.cuts > 0 {
			fmt.Fprintf(&b, ", cut %.0f%%", 100*c.cuts)
		}
		if c.killed > 0 {
			fmt.Fprintf(&b, ", killed after %s, resends %v", c.killed, c.resends)
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
