package clients

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A client is a stock client, and the program that speaks for it.
type client struct {
	name   string
	marker string   // what stands in .cache once it is installed; "" if it always is
	argv   []string // its command line; a word that begins with @ is a path in .cache
	env    []string // further environment of its program

	codecs  []string // those that it has here
	without string   // what it lacks: "idempotence", "plain" (it is always idempotent) or "" for nothing
	tool    bool     // it is a tool, and errors are looked at with the client that it is made of
	groups  []string // the group protocols that it speaks
	slow    bool     // takes minutes to install, and is run only where it is or FENCEPOST_ALL_CLIENTS=1
}

var (
	allCodecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}
	classic   = []string{"classic"}
	both      = []string{"classic", "consumer"}
)

// stockClients are the clients, in the order of the page.
var stockClients = []*client{
	{name: "franz-go", argv: []string{os.Args[0]}, env: []string{asProgram + "=1"}, codecs: allCodecs, groups: classic},
	{name: "confluent-kafka-python", marker: "python/stamp", argv: python("confluent"), codecs: allCodecs, groups: both},
	{name: "aiokafka", marker: "python/stamp", argv: python("aiokafka"), codecs: allCodecs, groups: classic},
	{name: "kafka-python", marker: "python/stamp", argv: python("kafka_python"), codecs: allCodecs, groups: classic},
}

func python(name string) []string { return []string{"@python/bin/python3", "python/client_" + name + ".py"} }

// cache is where integration/install puts what it installs.
func cache(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../.cache", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// require ends a test whose client is not installed.
func (c *client) require(t *testing.T) {
	t.Helper()
	_, err := os.Stat(cache(t, c.marker))
	installed := c.marker == "" || err == nil
	if !c.slow {
		Require(t, c.name, installed, "integration/install")
	} else if !installed && os.Getenv("FENCEPOST_ALL_CLIENTS") != "1" {
		t.Skipf("%s is not installed: run integration/install --all", c.name)
	} else {
		Require(t, c.name, installed, "integration/install --all")
	}
}

// command is the command line of the program.
func (c *client) command(t testing.TB) []string {
	t.Helper()
	argv := slices.Clone(c.argv)
	for i, word := range argv {
		if word[0] == '@' {
			argv[i] = cache(t, word[1:])
		}
	}
	return argv
}
