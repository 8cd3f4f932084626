package integration

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The check of the chaos test can fail, in each way.
func TestChaos_notes(t *testing.T) {
	// Two partitions: record n stands at offset n/2 of partition n%2.
	const sound = `
		a owns 0 0 0
		a read 0 0 0
		a read 0 1 2
		a commits 0 2 0
		b owns 1 0 0
		b read 1 0 1`
	for _, c := range []struct {
		name, more string
		ends       []int64
		want       []string
	}{
		{"of sound members are no cause for complaint", "", []int64{2, 1}, nil},
		{"may tell of records that come again to another", "c owns 1 0 0\nc read 1 0 1\nc commits 1 1 0", []int64{2, 1}, nil},
		{"may tell of records that come again to the same after it lost the partition", "b owns 1 0 0\nb read 1 0 1", []int64{2, 1}, nil},
		{"show a record that nobody was given", "", []int64{3, 1},
			[]string{"offset 2 of partition 0 was delivered to nobody, and the partition ends at 3"}},
		{"show a commit past what was seen", "b commits 1 2 0\nb read 1 1 3", []int64{2, 2},
			[]string{"b committed offset 2 of partition 1, and nobody had seen 1"}},
		{"show a record that was left out", "b read 1 2 5\nc owns 1 0 0\nc read 1 0 1\nc read 1 1 3", []int64{2, 3},
			[]string{"b read offset 2 of partition 1, and 1 was next"}},
		{"show a record that comes twice in a session", "b read 1 0 1", []int64{2, 1},
			[]string{"b read offset 0 of partition 1, and 1 was next"}},
		{"show a session that begins where nobody committed", "c owns 0 0 0\nc read 0 1 2", []int64{2, 1},
			[]string{"c began at offset 1 of partition 0, which nobody had committed"}},
		{"show a reader that does not own what it reads", "a read 1 0 1", []int64{2, 1},
			[]string{"a read offset 0 of partition 1, which it did not own"}},
		{"show a record at the place of another", "b read 1 1 1", []int64{2, 2},
			[]string{"at offset 1 of partition 1 stands record 1, and not 3"}},
		{"show a partition that there is not", "b read 2 0 0", []int64{2, 1}, []string{"b notes partition 2, and there are 2"}},
		{"show a verb that there is not", "b ate 1 0 1", []int64{2, 1}, []string{`b notes "ate", which is no verb`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			notes, err := readNotes(strings.TrimSpace(sound + "\n" + c.more))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, checkNotes(notes, c.ends)); diff != "" {
				t.Errorf("other complaints than wanted (-):\n%s", diff)
			}
		})
	}
}

func TestChaos_a_line_that_is_no_note_is_an_error(t *testing.T) {
	const want = `"a ate" is no note: EOF`
	if _, err := readNotes("a owns 0 0 0\na ate"); err == nil || err.Error() != want {
		t.Errorf("the error is %v, and not %s", err, want)
	}
}
