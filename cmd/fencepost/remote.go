package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/fencepostmq/fencepost/internal/web"
	"github.com/spf13/cobra"
)

// A remote is a broker that runs elsewhere, spoken to over its HTTP API.
type remote struct {
	base   string
	output string
}

// register adds the flags that every command that speaks to a broker has.
func (r *remote) register(cmd *cobra.Command) {
	cmd.PersistentFlags().StringVar(&r.base, "http", "", "the broker's HTTP `ADDR` (default: FENCEPOST_HTTP, else "+defaultHTTP+")")
	cmd.PersistentFlags().StringVar(&r.output, "output", outputText, "`text|json`")
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error { return r.resolve() }
}

func (r *remote) resolve() error {
	if r.output != outputText && r.output != outputJSON {
		return fmt.Errorf("--output %q is not known; want %s or %s", r.output, outputText, outputJSON)
	}
	if r.base == "" {
		r.base = os.Getenv("FENCEPOST_HTTP")
	}
	if r.base == "" {
		r.base = defaultHTTP
	}
	if !strings.Contains(r.base, "://") {
		r.base = "http://" + r.base
	}
	r.base = strings.TrimSuffix(r.base, "/")
	return nil
}

// An unreachableError is a broker that does not answer.
type unreachableError struct {
	base string
	err  error
}

func (e *unreachableError) Error() string {
	if errors.Is(e.err, syscall.ECONNREFUSED) {
		return "no broker serves HTTP at " + e.base
	}
	return fmt.Sprintf("cannot reach a broker at %s: %v", e.base, e.err)
}

func (e *unreachableError) Unwrap() error { return e.err }

// do asks the broker and gives its answer, or the error that it told.
func (r *remote) do(ctx context.Context, method, path, accept string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("--http %q is no address: %w", r.base, err)
	}
	req.Header.Set("Accept", accept)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, &unreachableError{r.base, err}
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer resp.Body.Close()
		return nil, problemOf(resp)
	}
	return resp, nil
}

func problemOf(resp *http.Response) error {
	var p web.Problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		return fmt.Errorf("the broker answered %s", resp.Status)
	}
	if p.Syntax != nil {
		return p.Syntax
	}
	return &p
}

// print copies an answer to w.
func (r *remote) print(ctx context.Context, w io.Writer, method, path, accept string, body []byte) error {
	resp, err := r.do(ctx, method, path, accept, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(w, resp.Body)
	return err
}

// get reads a JSON answer into v.
func (r *remote) get(ctx context.Context, path string, v any) error {
	resp, err := r.do(ctx, http.MethodGet, path, "application/json", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(v)
}

func newFaults() *cobra.Command {
	var r remote
	cmd := &cobra.Command{
		Use:   "faults",
		Short: "List, add and remove the fault rules of a running broker",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return r.listFaults(cmd) },
	}
	r.register(cmd)
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the rules with what came of each", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return r.listFaults(cmd) },
		},
		&cobra.Command{
			Use: "add SENTENCE", Short: "Put a rule in force", Args: cobra.MinimumNArgs(1),
			Example: "  fencepost faults add 'disconnect after produce attempt=1 times=all'",
			RunE:    func(cmd *cobra.Command, args []string) error { return r.addFault(cmd, strings.Join(args, " ")) },
		},
		&cobra.Command{
			Use: "remove NAME|SENTENCE", Short: "Take a rule out of force", Args: cobra.MinimumNArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				path := "/faults/" + url.PathEscape(strings.Join(args, " "))
				return r.print(cmd.Context(), io.Discard, http.MethodDelete, path, "application/json", nil)
			},
		},
		&cobra.Command{
			Use: "clear", Short: "Take all rules out of force", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return r.print(cmd.Context(), io.Discard, http.MethodDelete, "/faults", "application/json", nil)
			},
		},
	)
	return cmd
}

func (r *remote) listFaults(cmd *cobra.Command) error {
	if r.output == outputJSON {
		return r.print(cmd.Context(), cmd.OutOrStdout(), http.MethodGet, "/faults", "application/json", nil)
	}
	var faults []web.Rule
	if err := r.get(cmd.Context(), "/faults", &faults); err != nil {
		return err
	}
	for _, f := range faults {
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n  %s\n  fired %d of %d times that it matched\n", f.Sentence, f.English, f.Fired, f.Matched)
		if f.NearMiss != "" {
			fmt.Fprintf(cmd.OutOrStdout(), "  %s\n", f.NearMiss)
		}
	}
	return nil
}

func (r *remote) addFault(cmd *cobra.Command, sentence string) error {
	body, err := json.Marshal(map[string]string{"sentence": sentence})
	if err != nil {
		return err
	}
	resp, err := r.do(cmd.Context(), http.MethodPost, "/faults", "application/json", body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if r.output == outputJSON {
		_, err = io.Copy(cmd.OutOrStdout(), resp.Body)
		return err
	}
	var f web.Rule
	if err := json.NewDecoder(resp.Body).Decode(&f); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n  %s\n", f.Sentence, f.English)
	return nil
}

func newVerdict() *cobra.Command {
	var r remote
	cmd := &cobra.Command{
		Use:   "verdict [TOPIC]",
		Short: "Ask a running broker whether every record was written exactly once; exit code 1 if not",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "/verdict"
			if len(args) > 0 {
				path += "?topic=" + url.QueryEscape(args[0])
			}
			return r.verdict(cmd, path)
		},
	}
	r.register(cmd)
	return cmd
}

func (r *remote) verdict(cmd *cobra.Command, path string) error {
	accept := "text/plain"
	if r.output == outputJSON {
		accept = "application/json"
	}
	if err := r.print(cmd.Context(), cmd.OutOrStdout(), http.MethodGet, path, accept, nil); err != nil {
		return err
	}
	var v struct {
		ExactlyOnce bool `json:"exactly_once"`
	}
	if err := r.get(cmd.Context(), path, &v); err != nil {
		return err
	}
	if !v.ExactlyOnce {
		return exitCode(exitBroken)
	}
	return nil
}
