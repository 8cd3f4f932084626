package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Duplicates are told as a list of the places of each record that stands in the
// log more than once, such as "0:41 0:57", partition and offset.

// duplicatesIn finds the keys that stand in the log more than once.
func duplicatesIn(log []*kgo.Record) []string {
	at := map[string][]string{}
	for _, r := range log {
		at[string(r.Key)] = append(at[string(r.Key)], fmt.Sprintf("%d:%d", r.Partition, r.Offset))
	}
	return twoAndMore(at)
}

func twoAndMore(at map[string][]string) (found []string) {
	for _, places := range at {
		if len(places) > 1 {
			found = append(found, strings.Join(places, " "))
		}
	}
	slices.Sort(found)
	return found
}

// duplicatesNamed lists what a verdict names as duplicated.
func duplicatesNamed(v journal.TopicVerdict) (named []string) {
	for _, d := range v.Duplicated {
		for i := range int64(d.Records) {
			var places []string
			for _, p := range d.Places {
				places = append(places, fmt.Sprintf("%d:%d", p.Partition, p.FirstOffset+i))
			}
			named = append(named, strings.Join(places, " "))
		}
	}
	slices.Sort(named)
	return named
}

// checkDuplicates fails unless the verdict names exactly the records that stand
// in the log more than once, and there are some.
func checkDuplicates(t testing.TB, v journal.TopicVerdict, log []*kgo.Record) {
	t.Helper()
	want := duplicatesIn(log)
	if len(want) == 0 {
		t.Error("nothing stands in the log twice")
	}
	if diff := cmp.Diff(want, duplicatesNamed(v)); diff != "" {
		t.Errorf("the log holds (-), and the verdict names (+):\n%s\n%s", diff, v)
	}
}
