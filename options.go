package fencepost

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"

	"github.com/fencepostmq/fencepost/internal/broker"
	"github.com/fencepostmq/fencepost/internal/fault"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/fencepostmq/fencepost/internal/scenario"
	"github.com/fencepostmq/fencepost/internal/wire"
	"go.uber.org/zap"
)

// An Option changes how a broker is started. Options that hold something wrong
// make Run fail with an error that says what and what would be right.
type Option func(*config) error

type config struct {
	listen   []listenAddress
	inMemory bool
	http     string
	topics   []topicConfig
	rules    []fault.Rule
	seed     uint64
	identity journal.Identity
	broker   broker.Options
	limits   wire.Limits
	log      *zap.Logger
}

type topicConfig struct {
	name       string
	partitions int32
	configs    map[string]string
}

type listenAddress struct {
	address    string
	advertised wire.Advertised
}

func newConfig(options []Option) (*config, error) {
	c := &config{
		seed: rand.Uint64N(maxDrawnSeed), log: zap.NewNop(),
		broker: broker.Options{AutoCreate: true, Partitions: 1}, limits: wire.DefaultLimits(),
	}
	for _, o := range options {
		if err := o(c); err != nil {
			return nil, err
		}
	}
	if len(c.listen) == 0 && !c.inMemory {
		c.listen = []listenAddress{{address: "127.0.0.1:0"}}
	}
	c.broker.Seed, c.broker.Log = c.seed, c.log
	return c, nil
}

// maxDrawnSeed keeps seeds that nobody chose short enough to be typed again.
const maxDrawnSeed = 1_000_000

// Topic makes a topic with this many partitions when the broker starts. Each
// config is a Kafka topic config such as "max.message.bytes=2000000".
func Topic(name string, partitions int, configs ...string) Option {
	return func(c *config) error {
		t := topicConfig{name: name, partitions: int32(min(partitions, 1<<31-1)), configs: map[string]string{}}
		for _, pair := range configs {
			key, value, ok := strings.Cut(pair, "=")
			if !ok {
				return fmt.Errorf("topic %s: config %q has no value; write it as key=value", name, pair)
			}
			t.configs[key] = value
		}
		c.topics = append(c.topics, t)
		return nil
	}
}

// TopicSpec makes a topic that is written as NAME[:PARTITIONS[:key=value,...]].
func TopicSpec(spec string) Option {
	return func(c *config) error {
		name, rest, more := strings.Cut(spec, ":")
		partitions := -1
		var configs []string
		if more {
			count, list, hasConfigs := strings.Cut(rest, ":")
			n, err := strconv.ParseInt(count, 10, 32)
			if err != nil || n < 1 {
				return fmt.Errorf("topic %q: %q is no number of partitions; write it as NAME[:PARTITIONS[:key=value,...]], such as orders:3", spec, count)
			}
			partitions = int(n)
			if hasConfigs {
				configs = strings.Split(list, ",")
			}
		}
		return Topic(name, partitions, configs...)(c)
	}
}

// Fault puts a fault rule in force, written as a fault sentence such as
// "disconnect after produce attempt=1 times=all".
func Fault(sentence string) Option {
	return func(c *config) error {
		r, err := fault.Parse(sentence)
		if err != nil {
			return err
		}
		c.rules = append(c.rules, r)
		return nil
	}
}

// Listen serves on this address, such as "127.0.0.1:0", where port 0 takes a
// free one. "ADDRESS=HOST:PORT" tells clients to connect to HOST:PORT; without
// it a client is told the address that it did connect to. May be given more
// than once.
func Listen(address string) Option {
	return func(c *config) error {
		listen, advertised, told := strings.Cut(address, "=")
		l := listenAddress{address: listen}
		if _, _, err := net.SplitHostPort(listen); err != nil {
			return badAddress(listen)
		}
		if told {
			host, port, err := net.SplitHostPort(advertised)
			n, errPort := strconv.ParseUint(port, 10, 16)
			if err != nil || errPort != nil || host == "" || n == 0 {
				return badAddress(advertised)
			}
			l.advertised = wire.Advertised{Host: host, Port: int32(n)}
		}
		c.listen = append(c.listen, l)
		return nil
	}
}

func badAddress(a string) error {
	return fmt.Errorf("%q is no address; write it as HOST:PORT, such as 127.0.0.1:9092", a)
}

// InMemory serves no network address. Clients reach the broker through
// Broker.Dial, for instance with kgo.Dialer(b.Dial), and the whole of it can
// live in a testing/synctest bubble.
func InMemory() Option {
	return func(c *config) error { c.inMemory = true; return nil }
}

// Seed makes everything that is drawn by chance the same from run to run.
// Without it a seed is drawn and told by Broker.Seed.
func Seed(seed uint64) Option {
	return func(c *config) error { c.seed = seed; return nil }
}

// AutoCreate says whether a topic is made when a client first asks for it. It
// is on unless said otherwise.
func AutoCreate(on bool) Option {
	return func(c *config) error { c.broker.AutoCreate = on; return nil }
}

// Partitions is how many partitions a topic gets that does not say, 1 unless
// said otherwise.
func Partitions(n int) Option {
	return func(c *config) error {
		if n < 1 || n > broker.MaxTopicPartitions {
			return fmt.Errorf("%d partitions cannot be; a topic has 1 to %d", n, broker.MaxTopicPartitions)
		}
		c.broker.Partitions = int32(n)
		return nil
	}
}

// UnknownProducer says what becomes of the first batch of a producer that a
// partition does not know when it does not begin at sequence 0: "refuse", which
// is the default, or "accept", as Kafka 2.5 to 4.4 do.
func UnknownProducer(policy string) Option {
	return func(c *config) (err error) {
		c.broker.UnknownProducer, err = producer.ParsePolicy(policy)
		return err
	}
}

// Identity names what tells a record from every other, for a stricter verdict:
// "key", "value", or "header=NAME". Two records of one identity are then
// duplicates whatever the clients were told.
func Identity(what string) Option {
	return func(c *config) (err error) {
		c.identity, err = journal.ParseIdentity(what)
		return err
	}
}

// Memory is how many bytes of records are kept in memory, all topics together.
// A Produce beyond is refused with KAFKA_STORAGE_ERROR. Without it there is no
// limit.
func Memory(bytes int64) Option {
	return func(c *config) error {
		if bytes < 1 {
			return fmt.Errorf("%d bytes of memory cannot keep a record", bytes)
		}
		c.broker.Memory = bytes
		return nil
	}
}

// HTTP serves the page, the HTTP API and metrics on this address, such as
// "127.0.0.1:9644". Without it there is no HTTP.
func HTTP(address string) Option {
	return func(c *config) error {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return badAddress(address)
		}
		c.http = address
		return nil
	}
}

// Scenario reads seed, topics, fault rules, identity and what becomes of unknown
// producers from a YAML file. What it says to expect is for the command; a test
// says so itself.
func Scenario(path string) Option {
	return func(c *config) error {
		s, err := scenario.Read(path)
		if err != nil {
			return err
		}
		if s.Seed != nil {
			c.seed = *s.Seed
		}
		for _, t := range s.Topics {
			c.topics = append(c.topics, topicConfig{t.Name, int32(orDefault(t.Partitions)), t.Configs})
		}
		c.rules = append(c.rules, s.Faults...)
		if s.Identity != "" {
			if err := Identity(s.Identity)(c); err != nil {
				return err
			}
		}
		if s.UnknownProducer != "" {
			return UnknownProducer(s.UnknownProducer)(c)
		}
		return nil
	}
}

// orDefault is a number of partitions, -1 for the default.
func orDefault(partitions int) int {
	if partitions == 0 {
		return -1
	}
	return partitions
}

// Log sends what the broker has to say to a logger. Without it nothing is
// logged.
func Log(log *zap.Logger) Option {
	return func(c *config) error { c.log = log; return nil }
}
