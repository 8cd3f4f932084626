package kafka

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// twoAnswers is a response with a partition, and how one stayed out.
func twoAnswers() []answer {
	s := newScene("nowhere")
	s.producers["a"] = identity{id: 7}
	r := kmsg.NewPtrProduceResponse()
	r.Version = 12
	p := kmsg.NewProduceResponseTopicPartition()
	p.ErrorCode, p.ErrorMessage = 45, kmsg.StringPtr("of topic "+s.name("t")+"\tat 1700000000000")
	r.Topics = []kmsg.ProduceResponseTopic{{Topic: s.name("t"), Partitions: []kmsg.ProduceResponseTopicPartition{p}}}
	return []answer{s.answered("a step", r, nil), s.answered("another", nil, errClosed)}
}

func TestRecording_what_is_written_is_read_again(t *testing.T) {
	want := twoAnswers()
	text := "# a script\n"
	for _, a := range want {
		text += a.step + "\n" + a.String()
	}
	got, err := parseRecording([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(recording{"a script": want}, got, cmp.AllowUnexported(answer{}, part{}, field{})); d != "" {
		t.Errorf("read from\n%s(-written +read)\n%s", text, d)
	}
}

func TestRecording_lines_that_belong_to_nothing_are_told(t *testing.T) {
	for _, text := range []string{"a step\n", "\t.\tErrorCode=NONE\n", "# a script\n\t! closed\n"} {
		if _, err := parseRecording([]byte(text)); err == nil {
			t.Errorf("%q is read without an error", text)
		}
	}
}

func TestAnswered_hides_what_differs_by_nature(t *testing.T) {
	const want = `	Topics[t].Partitions[0]	ErrorCode=OUT_OF_ORDER_SEQUENCE_NUMBER	BaseOffset=0	ErrorMessage="of topic t\tat (time)"` + "\n"
	if got := twoAnswers()[0].String(); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

func TestDiffer_names_each_field_that_differs(t *testing.T) {
	of := func(parts ...part) answer { return answer{parts: parts} }
	with := func(path string, value string) part { return part{path, []field{{"ErrorCode", value}}} }
	for _, c := range []struct {
		name        string
		kafka, ours answer
		want        []mismatch
	}{
		{"equal", of(with("T[a]", "NONE")), of(with("T[a]", "NONE")), nil},
		{"a value", of(with("T[a]", "NONE")), of(with("T[a]", "UNKNOWN")), []mismatch{{"T[a].ErrorCode", "NONE", "UNKNOWN"}}},
		{"a field", of(with("T[a]", "NONE")), of(part{path: "T[a]"}), []mismatch{{"T[a].ErrorCode", "NONE", defaulted}}},
		{"a part as a whole", of(with("T[a]", "NONE"), with("T[a].P[0]", "NONE")), of(with("T[b]", "NONE")), []mismatch{
			{"T[a]", there, defaulted}, {"T[b]", defaulted, there}}},
		{"no answer", of(with("", "NONE")), answer{without: "closed"}, []mismatch{{"answer", ". ErrorCode=NONE", "closed"}}},
		{"no answer on either side", answer{without: "closed"}, answer{without: "no answer"}, []mismatch{{"answer", "closed", "no answer"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, differ(c.kafka, c.ours), cmp.AllowUnexported(mismatch{})); d != "" {
				t.Errorf("-want +got\n%s", d)
			}
		})
	}
}
