package wire
import ("testing";"bytes")
func TestZZ(t *testing.T) {
	set := batchOf(plainRecords(3), producerOf(7, 0, 0))
	before := bytes.Clone(set)
	CheckBatch(set, anyBatch)
	t.Log(bytes.Equal(set, before))
	EachRecord(set, 1<<20, func(Record) error { return nil })
	t.Log(bytes.Equal(set, before))
	for i := range set { if set[i] != before[i] { t.Log(i, before[i], set[i]) } }
}
