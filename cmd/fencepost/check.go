package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/fencepostmq/fencepost/internal/fault"
	"github.com/fencepostmq/fencepost/internal/scenario"
	"github.com/spf13/cobra"
)

func newCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE|SENTENCE",
		Short: "Read a scenario file, or a fault sentence, and say in plain English what it does",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			what := strings.Join(args, " ")
			s, err := scenario.Read(what)
			if errors.Is(err, fs.ErrNotExist) && strings.Contains(what, " ") {
				return checkSentence(cmd, what)
			}
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), s.English())
			return nil
		},
	}
}

func checkSentence(cmd *cobra.Command, sentence string) error {
	r, err := fault.Parse(sentence)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n  %s\n", r, r.English())
	return nil
}
