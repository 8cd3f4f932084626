package main

import (
	"flag"
	"net"

	"github.com/fencepostmq/fencepost/internal/broker"
	"github.com/fencepostmq/fencepost/internal/fault"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/fencepostmq/fencepost/internal/wire"
	"go.uber.org/zap"
)

// modeChain is the word that makes this program a broker with or without what stands
// before it. The command itself has no way to run without, since without the journal
// there is no verdict.
const modeChain = "chain"

// unmatched is a rule that looks at every Produce and fires at none.
const unmatched = "drop after produce topic=another times=all"

func runChain(args []string) error {
	flags := flag.NewFlagSet(modeChain, flag.ContinueOnError)
	bare := flags.Bool("bare", false, "without journal and faults")
	if err := parse(flags, args); err != nil {
		return err
	}
	b := broker.New(broker.Options{})
	h, err := chain(b, *bare)
	if err != nil {
		return err
	}
	server := wire.NewServer(h, b.TopicName, zap.NewNop())
	return serveUntilEnd(func(l net.Listener) error { return server.Serve(l, wire.Advertised{}) })
}

// chain puts journal and faults, none of which matches, before a broker.
func chain(b *broker.Broker, bare bool) (wire.Handler, error) {
	if bare {
		return b, nil
	}
	rule, err := fault.Parse(unmatched)
	if err != nil {
		return nil, err
	}
	faults := fault.New(1, b)
	if _, err := faults.Add(rule); err != nil {
		return nil, err
	}
	return journal.New(faults, journal.Options{}), nil
}
