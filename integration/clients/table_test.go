package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A client is a stock client, and the program that speaks for it.
type client struct {
	name   string
	marker string   // what stands in .cache once it is installed; "" if it always is
	path   string   // the command that has to be on the PATH
	argv   []string // its command line; a word that begins with @ is a path in .cache
	env    []string // further environment of its program; a value that begins with @ is a path in .cache

	codecs  []string // those that it has here
	without string   // what it lacks: "idempotence", "plain" (it is always idempotent) or "" for nothing
	tool    bool     // it is a tool, and errors are looked at with the client that it is made of
	groups  []string // the group protocols that it speaks
	rereads bool     // what it read last before it left it may read again: its commit then is not waited for
}

var (
	allCodecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}
	classic   = []string{"classic"}
	both      = []string{"classic", "consumer"}
)

const quietJava = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"

// stockClients are the clients, in the order of the page.
var stockClients = []*client{
	{name: "franz-go", argv: []string{os.Args[0]}, env: []string{asProgram + "=1"}, codecs: allCodecs, groups: classic},
	{name: "kcat", path: "kcat", argv: []string{"./kcat.sh"}, codecs: allCodecs, groups: classic},
	{name: "confluent-kafka-python", marker: "python/stamp", argv: python("confluent"), codecs: allCodecs, groups: both},
	{name: "Java", marker: "clients/java/stamp", argv: []string{"java", quietJava, "-cp", "@clients/java/jars/*:@clients/java/classes", "Client"}, codecs: allCodecs, groups: both},
	{name: "console tools", marker: "clients/java/stamp", argv: []string{"./console.sh"}, env: []string{"TOOLS=@clients/java/jars"}, codecs: []string{"none", "gzip"}, tool: true, groups: both},
	{name: "kafkajs", marker: "clients/node/stamp", argv: []string{"node", "node/kafkajs.js"}, env: []string{"NODE_PATH=@clients/node/node_modules"}, codecs: []string{"none", "gzip", "snappy"}, groups: classic},
	{name: "sarama", marker: "clients/bin/sarama", argv: []string{"@clients/bin/sarama"}, codecs: allCodecs, groups: classic},
	{name: "kafka-go", marker: "clients/bin/kafka-go", argv: []string{"@clients/bin/kafka-go"}, codecs: allCodecs, without: "idempotence", groups: classic},
	{name: "aiokafka", marker: "python/stamp", argv: python("aiokafka"), codecs: allCodecs, groups: classic},
	{name: "kafka-python", marker: "python/stamp", argv: python("kafka_python"), codecs: allCodecs, groups: classic},
	{name: "@platformatic/kafka", marker: "clients/node/stamp", argv: []string{"node", "node/platformatic.js"}, env: []string{"NODE_PATH=@clients/node/node_modules"}, codecs: []string{"none", "gzip", "snappy", "lz4"}, groups: both, rereads: true},
	{name: "confluent-kafka-go", marker: "clients/bin/confluent-kafka-go", argv: []string{"@clients/bin/confluent-kafka-go"}, codecs: allCodecs, groups: both},
	{name: "rust-rdkafka", marker: "clients/rust/debug/client", argv: []string{"@clients/rust/debug/client"}, codecs: allCodecs, groups: both},
	{name: "@confluentinc/kafka-javascript", marker: "clients/node-confluent/stamp", argv: []string{"node", "node-confluent/confluent.js"}, env: []string{"NODE_PATH=@clients/node-confluent/node_modules"}, codecs: allCodecs[:4], groups: both},
}

func python(name string) []string {
	return []string{"@python/bin/python3", "python/client_" + name + ".py"}
}

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
	if c.path != "" {
		_, err := exec.LookPath(c.path)
		installed = installed && err == nil
	}
	Require(t, c.name, installed, "integration/install")
}

// command is the command line of the program.
func (c *client) command(t testing.TB) (argv []string) {
	t.Helper()
	for _, word := range c.argv {
		argv = append(argv, expand(t, word))
	}
	return argv
}

// environment is what the program gets beside the test's own.
func (c *client) environment(t testing.TB) (env []string) {
	t.Helper()
	for _, pair := range c.env {
		name, value, _ := strings.Cut(pair, "=")
		env = append(env, name+"="+expand(t, value))
	}
	return env
}

// expand puts the path of the cache in the place of each @ at the beginning of a path.
func expand(t testing.TB, word string) string {
	t.Helper()
	paths := strings.Split(word, ":")
	for i, path := range paths {
		if rest, ok := strings.CutPrefix(path, "@"); ok {
			paths[i] = cache(t, rest)
		}
	}
	return strings.Join(paths, ":")
}
