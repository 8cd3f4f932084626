package main

import (
	"fmt"
	"runtime"

	"github.com/fencepostmq/fencepost"
	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			fmt.Fprintf(cmd.OutOrStdout(), "fencepost %s (%s, %s/%s)\n", fencepost.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
		},
	}
}
