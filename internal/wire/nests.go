package wire

import "reflect"

// A nest is an entry of a message that has topics of its own: a group of an
// OffsetFetch, or a transaction of an AddPartitionsToTxn.

// filterNest keeps of a nest the partitions that keep wants. One that names no
// topics, as a group does that asks for all of them, is asked about as a topic
// without a name.
func filterNest(nest reflect.Value, keep func(TopicPartition) bool) (reflect.Value, bool) {
	for _, list := range topicLists(nest) {
		if list.Len() > 0 {
			return filter(nest, keep)
		}
	}
	return nest, keep(TopicPartition{"", -1})
}

// mergeNests puts the nests of b behind those of a, or their topics behind those
// of the nest of the same name.
func mergeNests(a, b reflect.Value) reflect.Value {
	all := reflect.AppendSlice(reflect.MakeSlice(a.Type(), 0, a.Len()+b.Len()), a)
	for i := range b.Len() {
		nest := b.Index(i)
		if at := indexNest(all, nest); at >= 0 {
			all.Index(at).Set(merge(all.Index(at), nest))
		} else {
			all = reflect.Append(all, nest)
		}
	}
	return all
}

// indexNest finds the nest of the same name, -1 if there is none.
func indexNest(list, nest reflect.Value) int {
	for i := range list.Len() {
		if nestName(list.Index(i)) == nestName(nest) {
			return i
		}
	}
	return -1
}

// nestName is what tells nests apart: the group, or the transactional id.
func nestName(nest reflect.Value) string {
	for _, id := range []string{"Group", "TransactionalID"} {
		if f := nest.FieldByName(id); f.IsValid() {
			return f.String()
		}
	}
	return ""
}
