package main

import (
	"fmt"
	"io"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/dustin/go-humanize"
	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/scenario"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Values of --expect and --output.
const (
	expectExactlyOnce = "exactly-once"
	expectNothing     = "nothing"
	outputText        = "text"
	outputJSON        = "json"
)

const (
	defaultListen = "127.0.0.1:9092"
	defaultHTTP   = "127.0.0.1:9644"
	anyPort       = "127.0.0.1:0"
)

// A situation is what a program is run in, whatever the fault: the flags that a
// broker and a sweep have in common.
type situation struct {
	scenario string
	topics   []string
	seed     uint64
	unknown  string
	identity string
}

// options turns the flags into options of a broker. What a scenario says comes
// first, so that flags that were given win.
func (s *situation) options(given func(flag string) bool) (o []fencepost.Option) {
	if s.scenario != "" {
		o = append(o, fencepost.Scenario(s.scenario))
	}
	if given("seed") {
		o = append(o, fencepost.Seed(s.seed))
	}
	if given("unknown-producer") {
		o = append(o, fencepost.UnknownProducer(s.unknown))
	}
	if given("identity") {
		o = append(o, fencepost.Identity(s.identity))
	}
	for _, t := range s.topics {
		o = append(o, fencepost.TopicSpec(t))
	}
	return o
}

// brokerFlags are the flags that say how a broker is run.
type brokerFlags struct {
	situation
	listen     []string
	http       string
	autoCreate bool
	partitions int
	faults     []string
	memory     string
	limits     limitFlags
	expect     string
	output     string
	reportFile string
	logLevel   string
	logFormat  string
}

func (f *brokerFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.listen, "listen", []string{defaultListen}, "serve Kafka at `ADDR[=ADVERTISED]`; without =ADVERTISED a client is told the address that it connected to; repeatable; with a COMMAND a free port unless said")
	flags.StringVar(&f.http, "http", defaultHTTP, "serve the page, the API and metrics at `ADDR`, or off; with a COMMAND a free port unless said")
	flags.StringArrayVar(&f.topics, "topic", nil, "make a topic, `NAME[:PARTITIONS[:key=value,...]]`; repeatable")
	flags.BoolVar(&f.autoCreate, "auto-create", true, "make a topic when a client first asks for it")
	flags.IntVar(&f.partitions, "partitions", 1, "partitions of a topic that does not say")
	flags.StringArrayVar(&f.faults, "fault", nil, "put a fault rule in force, `SENTENCE`; repeatable")
	flags.StringVar(&f.scenario, "scenario", "", "read seed, topics, faults and what to expect from a YAML `FILE`; flags come on top of it")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of everything drawn by chance (default: drawn, and printed)")
	flags.StringVar(&f.unknown, "unknown-producer", "refuse", "`refuse|accept` a first batch that does not begin at sequence 0 from a producer that the partition does not know")
	flags.StringVar(&f.identity, "identity", "", "what tells a record from every other, for a stricter verdict: `key|value|header=NAME`")
	flags.StringVar(&f.memory, "memory", "", "records kept in memory, such as 2GiB (default: half of what the machine or its container has)")
	f.limits.register(cmd)
	flags.StringVar(&f.expect, "expect", expectExactlyOnce, "what has to hold at the end, else exit code 1: `exactly-once|nothing`")
	flags.StringVar(&f.output, "output", outputText, "form of the report: `text|json`")
	flags.StringVar(&f.reportFile, "report", "", "write the report to `FILE`; without it to standard output, or with a COMMAND to standard error")
	flags.StringVar(&f.logLevel, "log-level", "info", "`debug|info|warn|error`")
	flags.StringVar(&f.logFormat, "log-format", "console", "`console|json`")
}

// options turns the flags into options of a broker.
func (f *brokerFlags) options(cmd *cobra.Command) ([]fencepost.Option, error) {
	given := cmd.Flags().Changed
	if err := f.check(); err != nil {
		return nil, err
	}
	log, err := newLog(cmd.ErrOrStderr(), f.logLevel, f.logFormat)
	if err != nil {
		return nil, err
	}
	memory, err := memorySize(f.memory)
	if err != nil {
		return nil, err
	}
	limits, err := f.limits.options(given)
	if err != nil {
		return nil, err
	}
	limitHeap(memory)
	o := []fencepost.Option{fencepost.Log(log), fencepost.Memory(memory), fencepost.AutoCreate(f.autoCreate), fencepost.Partitions(f.partitions)}
	if f.scenario != "" {
		s, err := scenario.Read(f.scenario)
		if err != nil {
			return nil, err
		}
		if s.Expect != "" && !given("expect") {
			f.expect = s.Expect
		}
	}
	o = append(o, limits...)
	o = append(o, f.situation.options(given)...)
	o = append(o, f.addresses(given, cmd.ArgsLenAtDash() >= 0)...)
	for _, s := range f.faults {
		o = append(o, fencepost.Fault(s))
	}
	return o, nil
}

func (f *brokerFlags) check() error {
	if f.expect != expectExactlyOnce && f.expect != expectNothing {
		return fmt.Errorf("--expect %q is not known; want %s or %s", f.expect, expectExactlyOnce, expectNothing)
	}
	if f.output != outputText && f.output != outputJSON {
		return fmt.Errorf("--output %q is not known; want %s or %s", f.output, outputText, outputJSON)
	}
	return nil
}

// addresses says where to listen. A broker that a program is run against takes
// free ports, so that several can be run at once.
func (f *brokerFlags) addresses(given func(string) bool, forChild bool) (o []fencepost.Option) {
	listen, http := f.listen, f.http
	if forChild && !given("listen") {
		listen = []string{anyPort}
	}
	if forChild && !given("http") {
		http = anyPort
	}
	for _, a := range listen {
		o = append(o, fencepost.Listen(a))
	}
	if http != "off" {
		o = append(o, fencepost.HTTP(http))
	}
	return o
}

// memorySize reads a size, or takes half of the memory that there is.
func memorySize(size string) (int64, error) {
	if size == "" {
		total, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
		if err != nil {
			return defaultMemory, nil //nolint:nilerr // not every system tells
		}
		return int64(min(total/2, 1<<62)), nil
	}
	n, err := humanize.ParseBytes(size)
	if err != nil || n == 0 || n > 1<<62 {
		return 0, fmt.Errorf("--memory %q is no size; write it as 512MiB or 2GB", size)
	}
	return int64(n), nil
}

// defaultMemory is for a system that does not say how much memory it has.
const defaultMemory = 1 << 30

// newLog makes a logger that writes to w.
func newLog(w io.Writer, level, format string) (*zap.Logger, error) {
	l, err := zapcore.ParseLevel(level)
	if err != nil || l > zapcore.ErrorLevel {
		return nil, fmt.Errorf("--log-level %q is not known; want debug, info, warn or error", level)
	}
	c := zap.NewProductionEncoderConfig()
	c.EncodeTime = zapcore.ISO8601TimeEncoder
	var encoder zapcore.Encoder
	switch format {
	case "console":
		encoder = zapcore.NewConsoleEncoder(c)
	case "json":
		encoder = zapcore.NewJSONEncoder(c)
	default:
		return nil, fmt.Errorf("--log-format %q is not known; want console or json", format)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(w)), l)), nil
}
