package integration

import (
	"strings"
	"testing"
)

// aroundConfluent runs the producer with confluent-kafka as the child of the
// command, while the acknowledgement of every batch is lost once.
func aroundConfluent(t *testing.T, idempotent string) (code int, p *process) {
	t.Helper()
	python := confluentPython(t)
	p = start(t, []string{"IDEMPOTENT=" + idempotent, "RECORDS=3"}, "",
		fencepostCommand(t), "--seed", "42", "--http", "off", "--fault", lostAcks, "--", python, "-u", "clients/producer.py")
	return p.wait(t), p
}

func TestConfluent_idempotent_ends_with_0(t *testing.T) {
	t.Parallel()
	code, p := aroundConfluent(t, "true")
	const told = "o-0 stands at offset 0\no-1 stands at offset 1\no-2 stands at offset 2\n"
	if code != 0 || p.out.String() != told {
		t.Errorf("it ended with %d, and the producer was told: %s", code, p.out.String())
	}
	const verdict = "\norders is exactly once: 3 records in 3 batches, 3 acknowledgements lost, 3 replays answered with the first offset\n"
	if !strings.Contains(p.errors.String(), verdict) {
		t.Errorf("the verdict is: %s", p.errors.String())
	}
}

func TestConfluent_without_idempotence_ends_with_1_and_the_duplicates_are_named(t *testing.T) {
	t.Parallel()
	code, p := aroundConfluent(t, "false")
	const told = "o-0 stands at offset 1\no-1 stands at offset 3\no-2 stands at offset 5\n"
	if code != 1 || p.out.String() != told {
		t.Errorf("it ended with %d, and the producer was told: %s", code, p.out.String())
	}
	const verdict = `
orders is not exactly once (seed 42)
  duplicated  offsets 0 and 1 hold one record, key "o-0": sent again without idempotence after its ack was lost
  duplicated  offsets 2 and 3 hold one record, key "o-1": sent again without idempotence after its ack was lost
  duplicated  offsets 4 and 5 hold one record, key "o-2": sent again without idempotence after its ack was lost
              caused by fault "disconnect after produce attempt=1 times=all"
`
	if !strings.Contains(p.errors.String(), verdict) {
		t.Errorf("the verdict is: %s", p.errors.String())
	}
}
