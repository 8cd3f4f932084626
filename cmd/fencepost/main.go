// Command fencepost runs a broker that speaks Kafka's wire protocol, loses
// acknowledgements on purpose when told to, and proves from its own record
// whether every record was written exactly once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/fencepostmq/fencepost"
	"github.com/fencepostmq/fencepost/internal/fault"
	"github.com/fencepostmq/fencepost/internal/web"
	"github.com/spf13/cobra"
)

// Exit codes of the command.
const (
	exitOK     = 0
	exitBroken = 1 // the verdict does not hold
	exitUsage  = 2 // bad flags, a bad sentence, an address that cannot be listened on
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole command with its surroundings handed in.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var code exitCode
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(stderr, "fencepost: %v\n", err)
	fmt.Fprintf(stderr, "try: %s\n", hint(err, cmd))
	return exitUsage
}

// An exitCode ends the command without a further word: all has been said.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// hint says what to try after an error.
func hint(err error, cmd *cobra.Command) string {
	var listen *fencepost.ListenError
	var syntax *fault.SyntaxError
	var unreachable *unreachableError
	var problem *web.Problem
	switch {
	case errors.As(err, &unreachable):
		return "fencepost in another terminal, or --http with the address that it prints"
	case errors.As(err, &problem):
		return "fencepost faults, fencepost verdict or fencepost events, which list what there is"
	case errors.As(err, &listen) && listen.HTTP:
		return "--http 127.0.0.1:0, which takes a free port and prints it, or --http off"
	case errors.As(err, &listen):
		return "--listen 127.0.0.1:0, which takes a free port and prints it"
	case errors.As(err, &syntax):
		return "--fault 'disconnect after produce attempt=1 times=all', which loses the acknowledgement of every batch once"
	}
	return cmd.CommandPath() + " --help"
}

func newRoot() *cobra.Command {
	root := newServe()
	root.AddCommand(newDemo(), newSweep(), newCheck(), newFaults(), newVerdict(), newEvents(), newMan(), newVersion())
	return root
}
