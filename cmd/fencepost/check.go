package main

import (
	"fmt"

	"github.com/fencepostmq/fencepost/internal/scenario"
	"github.com/spf13/cobra"
)

func newCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Read a scenario file and say in plain English what it does",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := scenario.Read(args[0])
			if err != nil {
				return err
			}
			fmt.Fprint(cmd.OutOrStdout(), s.English())
			return nil
		},
	}
}
