// Package fencepost runs a broker that speaks Kafka's wire protocol, tells a
// producer's retry from a new record, loses acknowledgements on purpose, and
// proves from its own record whether everything was written exactly once.
//
// In a test:
//
//	b := fencepost.RunT(t, fencepost.Topic("orders", 3),
//		fencepost.Fault("disconnect after produce attempt=1 times=all"))
//	... produce to b.Addr() with any client ...
//	b.CheckExactlyOnce(t, "orders")
package fencepost

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fencepostmq/fencepost/internal/broker"
	"github.com/fencepostmq/fencepost/internal/fault"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/fencepostmq/fencepost/internal/web"
	"github.com/fencepostmq/fencepost/internal/wire"
	"go.uber.org/zap"
)

// A Broker is a running broker. Its methods may be called from any goroutine.
type Broker struct {
	seed      uint64
	broker    *broker.Broker
	faults    *fault.Set
	journal   *journal.Journal
	server    *wire.Server
	listeners []net.Listener
	web       *web.Server
	webAt     net.Listener
	closing   sync.Once
}

// Event is one delivery of a batch, or a request that a fault rule met: who sent
// what, what the broker did, what the client was told, and which rules fired.
type Event = journal.Event

// Verdict says for each topic whether its records were written exactly once, and
// if not, which were not and why. Its String is the report.
type Verdict = journal.Verdict

// FaultStatus is a fault rule and what came of it so far.
type FaultStatus = fault.Status

// Run starts a broker. Without Listen it serves a free port of 127.0.0.1, which
// Addr tells. Close ends it.
func Run(options ...Option) (*Broker, error) {
	c, err := newConfig(options)
	if err != nil {
		return nil, err
	}
	b := &Broker{seed: c.seed, broker: broker.New(c.broker)}
	b.faults = fault.New(c.seed, b.broker)
	b.journal = journal.New(b.broker.Sessions(b.faults), journal.Options{Seed: c.seed, Identity: c.identity})
	b.server = wire.NewServer(b.journal, b.broker.TopicName, c.log)
	b.server.Limits = c.limits
	if err := b.setUp(c); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Connections counts the connections of clients that are open, and those that ever
// were.
func (b *Broker) Connections() (open, opened int64) { return b.server.Connections() }

func (b *Broker) setUp(c *config) error {
	for _, t := range c.topics {
		if err := b.broker.CreateTopic(t.name, t.partitions, t.configs); err != nil {
			return fmt.Errorf("topic %q: %w", t.name, err)
		}
	}
	for _, r := range c.rules {
		if _, err := b.faults.Add(r); err != nil {
			return err
		}
	}
	return b.listen(c)
}

// listen takes every address before it serves the first, so that the page can
// show all of them.
func (b *Broker) listen(c *config) error {
	for _, at := range c.listen {
		l, err := net.Listen("tcp", at.address)
		if err != nil {
			return &ListenError{Address: at.address, Err: err}
		}
		b.listeners = append(b.listeners, l)
	}
	if c.http != "" {
		l, err := net.Listen("tcp", c.http)
		if err != nil {
			return &ListenError{Address: c.http, HTTP: true, Err: err}
		}
		b.serveHTTP(l, c.log)
	}
	for i, l := range b.listeners {
		b.serve(l, c.listen[i].advertised, c.log)
	}
	return nil
}

func (b *Broker) serve(l net.Listener, advertised wire.Advertised, log *zap.Logger) {
	go func() {
		if err := b.server.Serve(l, advertised); !errors.Is(err, wire.ErrClosed) {
			log.Error("a listener failed", zap.Stringer("address", l.Addr()), zap.Error(err))
		}
	}()
}

func (b *Broker) serveHTTP(l net.Listener, log *zap.Logger) {
	b.webAt = l
	b.web = web.New(web.Options{
		Journal: b.journal, Faults: b.faults, Seed: b.seed, Version: Version(), Kafka: b.Addrs(),
		Reset: b.Reset, Connections: b.Connections, Log: log,
	})
	b.server.Observe = b.web.Observe
	go func() {
		if err := b.web.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("the HTTP listener failed", zap.Stringer("address", l.Addr()), zap.Error(err))
		}
	}()
}

// A ListenError is an address that cannot be listened on.
type ListenError struct {
	Address string
	HTTP    bool // it is the address of the page and the API
	Err     error
}

// Error says what is wrong with the address.
func (e *ListenError) Error() string {
	if errors.Is(e.Err, syscall.EADDRINUSE) {
		return fmt.Sprintf("%s is in use by another program", e.Address)
	}
	var op *net.OpError
	if errors.As(e.Err, &op) {
		return fmt.Sprintf("cannot listen on %s: %v", e.Address, op.Err)
	}
	return fmt.Sprintf("cannot listen on %s: %v", e.Address, e.Err)
}

// Unwrap is the operating system's error.
func (e *ListenError) Unwrap() error { return e.Err }

// inMemoryAddress is what a broker without listeners calls itself.
const inMemoryAddress = "fencepost:9092"

// Addr is the address to give to a client as its bootstrap server, HOST:PORT.
func (b *Broker) Addr() string {
	if len(b.listeners) == 0 {
		return inMemoryAddress
	}
	return reachable(b.listeners[0].Addr())
}

// reachable is an address that a client on this machine can connect to. Every
// address of the machine, which is what [::] and 0.0.0.0 stand for, is none.
func reachable(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return a.String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}

// Addrs lists the addresses that are listened on, in the order of the options.
func (b *Broker) Addrs() []string {
	var all []string
	for _, l := range b.listeners {
		all = append(all, l.Addr().String())
	}
	return all
}

// HTTPAddr is the address of the page and the API, "" if HTTP was not asked for.
func (b *Broker) HTTPAddr() string {
	if b.webAt == nil {
		return ""
	}
	return reachable(b.webAt.Addr())
}

// Seed is the seed in use; with it a run can be had again.
func (b *Broker) Seed() uint64 { return b.seed }

// Dial connects to the broker within the process, whatever the address. Its
// form is the one that kgo.Dialer and the standard library want.
func (b *Broker) Dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	host, _, _ := strings.Cut(inMemoryAddress, ":")
	if err := b.server.ServeConn(server, wire.Advertised{Host: host, Port: 9092}); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// CreateTopic makes a topic. The error says what is wrong with its name or its
// number of partitions.
func (b *Broker) CreateTopic(name string, partitions int) error {
	return b.broker.CreateTopic(name, int32(partitions), nil)
}

// Fault puts a further fault rule in force.
func (b *Broker) Fault(sentence string) error {
	r, err := fault.Parse(sentence)
	if err != nil {
		return err
	}
	_, err = b.faults.Add(r)
	return err
}

// RemoveFault takes away the rule of this name, or of this sentence.
func (b *Broker) RemoveFault(rule string) error { return b.faults.Remove(rule) }

// ClearFaults takes all rules away.
func (b *Broker) ClearFaults() { b.faults.Clear() }

// Faults lists the rules in force, with what came of each.
func (b *Broker) Faults() []FaultStatus { return b.faults.Status() }

// Fired is how often the rule of this name, or of this sentence, has fired; of
// all rules together for "". A rule that is not there is an error.
func (b *Broker) Fired(rule string) (int, error) {
	total, found := 0, rule == ""
	for _, s := range b.faults.Status() {
		if rule == "" || s.Rule.Name == rule || s.Rule.String() == canonical(rule) {
			total, found = total+s.Fired, true
		}
	}
	if !found {
		return 0, fmt.Errorf("there is no fault rule %q", rule)
	}
	return total, nil
}

func canonical(sentence string) string {
	r, err := fault.Parse(sentence)
	if err != nil {
		return ""
	}
	return r.String()
}

// Unfired lists the rules in force that never fired, with what each saw instead.
func (b *Broker) Unfired() []FaultStatus { return b.faults.Unfired() }

// Events lists what happened: the most recent events, and of older ones those
// that were out of the ordinary.
func (b *Broker) Events() []Event { return b.journal.Events() }

// Verdict reads the log back and says for each topic whether every record was
// written exactly once.
func (b *Broker) Verdict(ctx context.Context) (Verdict, error) { return b.journal.Verdict(ctx) }

// Drain waits until every client has closed its connections, so that all that
// they sent has been handled and the verdict is their last word. The error is the
// context's.
func (b *Broker) Drain(ctx context.Context) error { return b.server.Drain(ctx) }

// Reset forgets all events and starts the rules' counters anew, as between two
// tests. Topics, records and rules stay.
func (b *Broker) Reset() {
	b.faults.Reset()
	b.journal.Reset()
}

// shutdownGrace is how long Close waits for requests that are being handled and
// for answers to be read, so that it ends within a second.
const shutdownGrace = 800 * time.Millisecond

// Close ends the broker within a second: what was applied is answered, what has
// not been begun is not done, every connection is closed, and all is forgotten. It
// may be called more than once.
func (b *Broker) Close() error {
	b.closing.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
		defer cancel()
		b.server.Shutdown(ctx)
		for _, l := range b.listeners {
			l.Close() // those that were never served
		}
		if b.web != nil {
			b.web.Shutdown(ctx) //nolint:errcheck // what has not ended by then is cut off
		}
	})
	return nil
}
