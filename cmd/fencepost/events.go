package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/fencepostmq/fencepost"
	"github.com/spf13/cobra"
)

func newEvents() *cobra.Command {
	var r remote
	var follow bool
	cmd := &cobra.Command{
		Use:   "events",
		Short: "Print what happened at a running broker, a line for each delivery of a batch",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if follow {
				return r.followEvents(cmd)
			}
			return r.listEvents(cmd)
		},
	}
	r.register(cmd)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what happens from now on")
	return cmd
}

func (r *remote) listEvents(cmd *cobra.Command) error {
	var events []fencepost.Event
	if err := r.get(cmd.Context(), "/events?follow=false", &events); err != nil {
		return err
	}
	for _, e := range events {
		if err := r.printEvent(cmd.OutOrStdout(), e); err != nil {
			return err
		}
	}
	return nil
}

func (r *remote) printEvent(w io.Writer, e fencepost.Event) error {
	if r.output == outputJSON {
		return json.NewEncoder(w).Encode(e)
	}
	_, err := fmt.Fprintln(w, e)
	return err
}

// maxEvent is the longest line of an event stream that is read, in bytes.
const maxEvent = 1 << 20

// followEvents reads the server-sent events until the broker or the user ends
// it.
func (r *remote) followEvents(cmd *cobra.Command) error {
	resp, err := r.do(cmd.Context(), http.MethodGet, "/events?since=0", "text/event-stream", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		var e fencepost.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return fmt.Errorf("the broker sent an event that cannot be read: %w", err)
		}
		if err := r.printEvent(cmd.OutOrStdout(), e); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil && cmd.Context().Err() == nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return nil // the user, or the broker, ended it
}
