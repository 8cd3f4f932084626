// Package clients runs stock Kafka clients, each as a small program of its own,
// against a broker that loses acknowledgements and tells errors, and draws up
// docs/clients.md from what it saw.
//
// Each program speaks one contract. The environment names the broker in
// KAFKA_BOOTSTRAP_SERVERS; results are lines of JSON on standard output.
//
//	PROGRAM produce JOB...       a JOB is TOPIC,RECORDS,CODEC,BATCH,idempotent or TOPIC,RECORDS,CODEC,BATCH,plain
//	PROGRAM consume TOPIC GROUP  as a member of a group, until standard input ends
//	PROGRAM admin TOPIC          makes the topic with 3 partitions, lists all topics, describes it
//
// produce makes a new producer for each job, sends record n with key "k-n", value
// "value n" and the header from=matrix, waits for a batch to be told of before it
// sends the next, and prints for each record
//
//	{"topic": "orders", "n": 7, "partition": 0, "offset": 7}
//	{"topic": "orders", "n": 7, "error": "NOT_LEADER_OR_FOLLOWER"}
//
// An offset of -1 is one that the client was not told. consume commits what it has
// read, then prints each record of it, and when its input ends leaves the group:
//
//	{"topic": "orders", "partition": 0, "offset": 7, "key": "k-7", "header": "matrix"}
//
// admin prints {"version": "1.0.0", "listed": ["orders"], "partitions": 3}, where the
// version is the client's own.
package clients

import "os"

// An Outsider is what Require needs of a test.
type Outsider interface {
	Helper()
	Skip(args ...any)
	Fatal(args ...any)
}

// Require ends a test whose outside client is not installed: it is skipped, but
// fails where CI=true, where all have to be. install is the command that brings it.
func Require(t Outsider, name string, installed bool, install string) {
	t.Helper()
	if installed {
		return
	}
	why := name + " is not installed: run " + install
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
