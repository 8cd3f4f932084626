// Command kfake runs one broker of franz-go's kfake, to be measured beside others. It is
// a module of its own, so that nothing else needs kfake.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		fmt.Fprintln(os.Stderr, "kfake:", err)
		os.Exit(1)
	}
	defer c.Close()
	fmt.Println("serving at", c.ListenAddrs()[0])
	io.Copy(io.Discard, os.Stdin) // ends with whoever started it
}
