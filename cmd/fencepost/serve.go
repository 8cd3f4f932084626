package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/fencepostmq/fencepost"
	"github.com/spf13/cobra"
)

func newServe() *cobra.Command {
	var f brokerFlags
	cmd := &cobra.Command{
		Use:   "fencepost [flags] [-- COMMAND ARG...]",
		Short: "A Kafka-protocol broker that loses acknowledgements on purpose and proves that every record was written once",
		Long: `A Kafka-protocol broker in memory that answers one question about a producer in
any language: if the acknowledgement is lost, is my record written once?

Without a command it serves until it is interrupted, and prints the verdict.
With one it runs the command against the broker, whose address the command finds
in KAFKA_BOOTSTRAP_SERVERS and the HTTP address in FENCEPOST_HTTP. Its output
passes through, signals are passed on, and its exit code is kept unless the
verdict does not hold.`,
		Example: `  fencepost --topic orders:3
  fencepost --fault 'disconnect after produce attempt=1 times=all' -- ./my-producer`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() == 0 && len(args) == 0 {
				return fmt.Errorf("no program stands behind --")
			}
			if len(args) > 0 && slices.Contains([]string{"before", "after"}, args[0]) {
				return fmt.Errorf("a sentence is one word for the shell; put it in quotes: --fault '%s %s'",
					strings.Join(f.faults, " "), strings.Join(args[:sentenceEnd(cmd, args)], " "))
			}
			if cmd.ArgsLenAtDash() != 0 && len(args) > 0 {
				return fmt.Errorf("unknown command %q; a program to run stands behind --, as in: fencepost -- %s", args[0], strings.Join(args, " "))
			}
			return nil
		},
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			s := session{out: cmd.OutOrStdout(), err: cmd.ErrOrStderr(), flags: &f}
			if len(args) > 0 {
				return s.runChild(cmd, args)
			}
			return s.serve(cmd)
		},
	}
	f.register(cmd)
	return cmd
}

// sentenceEnd is where the words before -- end.
func sentenceEnd(cmd *cobra.Command, args []string) int {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		return dash
	}
	return len(args)
}

// A session is one run of a broker from the command line.
type session struct {
	out, err io.Writer
	flags    *brokerFlags
}

// start runs a broker and says where it serves.
func (s session) start(cmd *cobra.Command, say io.Writer) (*fencepost.Broker, error) {
	options, err := s.flags.options(cmd)
	if err != nil {
		return nil, err
	}
	b, err := fencepost.Run(options...)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(say, "fencepost: Kafka at %s, seed %d\n", strings.Join(b.Addrs(), " and "), b.Seed())
	if b.HTTPAddr() != "" {
		fmt.Fprintf(say, "fencepost: page and API at http://%s\n", b.HTTPAddr())
	}
	for _, f := range b.Faults() {
		fmt.Fprintf(say, "fencepost: fault %q\n           %s\n", f.Rule, f.Rule.English())
	}
	return b, nil
}

// serve runs a broker until it is interrupted, and prints the verdict.
func (s session) serve(cmd *cobra.Command) error {
	say := s.out
	if s.flags.output == outputJSON {
		say = s.err
	}
	b, err := s.start(cmd, say)
	if err != nil {
		return err
	}
	defer b.Close()
	<-cmd.Context().Done()
	b.Close() // what a rule still holds back is noted before the verdict is drawn
	holds, err := s.reportTo(s.out, b)
	if err != nil {
		return err
	}
	if !holds {
		return exitCode(exitBroken)
	}
	return nil
}

// runChild runs a program against a broker. Whatever this command has to say
// goes to standard error, so that the program's output stays its own.
func (s session) runChild(cmd *cobra.Command, args []string) error {
	b, err := s.start(cmd, s.err)
	if err != nil {
		return err
	}
	defer b.Close()
	c := child{args: args, stdout: s.out, stderr: s.err, env: childEnvironment(b)}
	code, err := c.run(context.WithoutCancel(cmd.Context()))
	if err != nil {
		fmt.Fprintf(s.err, "fencepost: %v\n", err)
		return exitCode(code)
	}
	settle(cmd.Context(), b)
	b.Close()
	holds, err := s.reportTo(s.err, b)
	if len(b.Events()) == 0 {
		fmt.Fprintln(s.err, whyNothingCame(b))
	}
	switch {
	case err != nil:
		return err
	case !holds:
		return exitCode(exitBroken)
	case code != exitOK:
		return exitCode(code)
	}
	return nil
}

func childEnvironment(b *fencepost.Broker) []string {
	env := []string{"KAFKA_BOOTSTRAP_SERVERS=" + b.Addr()}
	if b.HTTPAddr() != "" {
		env = append(env, "FENCEPOST_HTTP=http://"+b.HTTPAddr())
	}
	return env
}

// reportTo reports to the file that was asked for, or else to w.
func (s session) reportTo(w io.Writer, b *fencepost.Broker) (holds bool, err error) {
	if s.flags.reportFile == "" {
		return s.report(w, b)
	}
	f, err := os.Create(s.flags.reportFile)
	if err != nil {
		return false, fmt.Errorf("--report: %w", err)
	}
	holds, err = s.report(f, b)
	return holds, errors.Join(err, f.Close())
}

// report prints the verdict and the rules that never fired, and says whether
// what was expected holds.
func (s session) report(to io.Writer, b *fencepost.Broker) (holds bool, err error) {
	v, err := b.Verdict(context.Background())
	if err != nil {
		return false, err
	}
	unfired := b.Unfired()
	holds = s.flags.expect == expectNothing || v.ExactlyOnce && len(unfired) == 0
	if s.flags.output == outputJSON {
		e := json.NewEncoder(to)
		e.SetIndent("", "  ")
		return holds, e.Encode(map[string]any{"verdict": v, "unfired": unfired, "holds": holds})
	}
	fmt.Fprint(to, v)
	for _, f := range unfired {
		fmt.Fprintln(to, f.Report())
	}
	return holds, nil
}

// whyNothingCame is what to look at where a program produced nothing.
func whyNothingCame(b *fencepost.Broker) string {
	if _, opened := b.Connections(); opened > 0 {
		return "the program connected and produced nothing: a client that does not ask for its topic to be made needs --topic NAME"
	}
	return "does the program read KAFKA_BOOTSTRAP_SERVERS?"
}
