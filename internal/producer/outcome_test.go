package producer_test

import (
	"testing"

	"github.com/fencepostmq/fencepost/internal/producer"
)

func TestOutcome_String(t *testing.T) {
	for _, tt := range []struct {
		outcome producer.Outcome
		want    string
	}{
		{producer.Outcome{}, "accepted"},
		{producer.Outcome{Kind: producer.Duplicate, BaseOffset: 3, Timestamp: 99}, "duplicate of base offset 3"},
		{producer.Outcome{Kind: producer.OutOfOrder, Expected: 5, Got: 7}, "out of order: expected 5, got 7"},
		{producer.Outcome{Kind: producer.Fenced, Epoch: 1}, "fenced by epoch 1"},
		{producer.Outcome{Kind: 200}, "outcome of unknown kind 200"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			if got := tt.outcome.String(); got != tt.want {
				t.Errorf("String() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPolicy_is_read_as_it_is_written(t *testing.T) {
	for _, tt := range []struct {
		policy producer.Policy
		word   string
	}{
		{producer.Refuse, "refuse"},
		{producer.Accept, "accept"},
	} {
		t.Run(tt.word, func(t *testing.T) {
			if got := tt.policy.String(); got != tt.word {
				t.Errorf("String() = %q, want %q", got, tt.word)
			}
			got, err := producer.ParsePolicy(tt.word)
			if got != tt.policy || err != nil {
				t.Errorf("ParsePolicy(%q) = %v, %v", tt.word, got, err)
			}
		})
	}
}

func TestPolicy_refuses_by_default(t *testing.T) {
	var zero producer.Policy
	if zero != producer.Refuse {
		t.Errorf("the zero policy is %v, want %v", zero, producer.Refuse)
	}
}

func TestParsePolicy_names_the_bad_word_and_the_good_ones(t *testing.T) {
	for _, tt := range []struct{ word, want string }{
		{"", `unknown producer policy "": want refuse or accept`},
		{"a", `unknown producer policy "a": want refuse or accept`},
		{"refused", `unknown producer policy "refused": want refuse or accept`},
		{"Accept", `unknown producer policy "Accept": want refuse or accept`},
		{"policy 2", `unknown producer policy "policy 2": want refuse or accept`},
	} {
		t.Run(tt.word, func(t *testing.T) {
			got, err := producer.ParsePolicy(tt.word)
			if err == nil || err.Error() != tt.want {
				t.Errorf("ParsePolicy(%q) error = %v, want %s", tt.word, err, tt.want)
			}
			if got != producer.Refuse {
				t.Errorf("ParsePolicy(%q) = %v, want the safe one", tt.word, got)
			}
		})
	}
	if got, want := producer.Policy(2).String(), "policy 2"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}
