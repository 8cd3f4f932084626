package fencepost_test

import (
	"testing"

	"github.com/fencepostmq/fencepost/internal/broker"
	"github.com/fencepostmq/fencepost/internal/journal"
	"github.com/fencepostmq/fencepost/internal/producer"
	"github.com/fencepostmq/fencepost/internal/scenario"
)

// TestScenario_speaks_the_words_of_the_house holds what a scenario file may say
// against the packages that understand it, which it may not import.
func TestScenario_speaks_the_words_of_the_house(t *testing.T) {
	if scenario.MaxPartitions != broker.MaxTopicPartitions {
		t.Errorf("a file may ask for %d partitions, and a topic may have %d", scenario.MaxPartitions, broker.MaxTopicPartitions)
	}
	for _, identity := range []string{scenario.IdentityKey, scenario.IdentityValue, scenario.IdentityHeader + "id"} {
		if _, err := journal.ParseIdentity(identity); err != nil {
			t.Error(err)
		}
	}
	for _, policy := range []string{scenario.Refuse, scenario.Accept} {
		if _, err := producer.ParsePolicy(policy); err != nil {
			t.Error(err)
		}
	}
}
