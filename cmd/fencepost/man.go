package main

import (
	"fmt"
	"os"

	"github.com/fencepostmq/fencepost"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a directory",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			header := doc.GenManHeader{Title: "FENCEPOST", Section: "1", Source: "fencepost " + fencepost.Version()}
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			if err := doc.GenManTree(cmd.Root(), &header, args[0]); err != nil {
				return fmt.Errorf("cannot write manual pages: %w", err)
			}
			return nil
		},
	}
}
